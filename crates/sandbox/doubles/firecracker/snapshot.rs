//! Snapshots: the machine's parts in one file, and in another its memory.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};

use serde_json::{Map, Value, json};

use super::http::Fault;
use super::machine::Parts;

pub(super) fn write(parts: &Parts, body: &Value) -> Result<(), Fault> {
    if body["snapshot_type"].as_str() == Some("Diff") {
        return Err(
            "Diff snapshots are not allowed on uVMs with dirty page tracking disabled.".to_owned(),
        );
    }
    let state: Map<String, Value> = parts.requests.clone().into_iter().collect();
    let failed = |error: std::io::Error| format!("Cannot write the snapshot: {error}");
    fs::write(path(body, "snapshot_path"), json!(state).to_string()).map_err(failed)?;
    File::create(path(body, "mem_file_path"))
        .and_then(|mut memory| {
            memory.write_all(&parts.program.len().to_le_bytes())?;
            memory.write_all(&parts.program)?;
            memory.set_len(parts.memory_bytes())
        })
        .map_err(failed)
}

pub(super) fn read(body: &Value) -> Result<Parts, Fault> {
    let failed = |error: &dyn std::fmt::Display| format!("Load snapshot error: {error}");
    let state = fs::read(path(body, "snapshot_path")).map_err(|error| failed(&error))?;
    let state: Map<String, Value> =
        serde_json::from_slice(&state).map_err(|error| failed(&error))?;
    let mut parts = Parts {
        requests: state.into_iter().collect(),
        program: Vec::new(),
    };
    let memory = body["mem_backend"]["backend_path"].as_str();
    let mut memory = File::open(memory.unwrap_or_default()).map_err(|error| failed(&error))?;
    let size = memory.metadata().map_err(|error| failed(&error))?.len();
    if size != parts.memory_bytes() {
        return Err(failed(&"the memory file has another size"));
    }
    let mut length = [0; size_of::<usize>()];
    memory
        .read_exact(&mut length)
        .and_then(|()| {
            parts.program.resize(usize::from_le_bytes(length), 0);
            memory.read_exact(&mut parts.program)
        })
        .map_err(|error| failed(&error))?;
    Ok(parts)
}

fn path<'a>(body: &'a Value, field: &str) -> &'a str {
    body[field].as_str().unwrap_or_default()
}
