//! Which requests there are, and what each does.

use serde_json::Value;

use super::fields::{self, Field};
use super::http::{Fault, Request};
use super::machine::{Machine, Parts, State};
use super::trouble::Trouble;
use super::{complain, end, snapshot};

pub(super) fn answer(machine: &mut Machine, request: &Request) -> Result<Option<Value>, Fault> {
    let path = request.path.as_str();
    let body = || {
        request
            .body
            .clone()
            .ok_or_else(|| "Empty request body.".to_owned())
    };
    let checked = |fields: &[Field]| {
        let body = body()?;
        fields::check(&body, fields)?;
        Ok::<Value, Fault>(body)
    };
    match (request.method.as_str(), path) {
        ("GET", "/") => return Ok(Some(machine.describe())),
        ("PUT", "/machine-config") => machine.take(path, checked(fields::MACHINE_CONFIG)?)?,
        ("PUT", "/boot-source") => machine.take(path, checked(fields::BOOT_SOURCE)?)?,
        ("PUT", "/vsock") => machine.take(path, checked(fields::VSOCK)?)?,
        ("PUT", "/entropy") => machine.take(path, checked(fields::ENTROPY)?)?,
        ("PUT", "/actions") => act(machine, &checked(fields::ACTION)?)?,
        ("PATCH", "/vm") => match checked(fields::VM)?["state"].as_str() {
            Some("Paused") => machine.pause()?,
            _ => machine.resume()?,
        },
        ("PUT", "/snapshot/create") => {
            let body = checked(fields::SNAPSHOT_CREATE)?;
            if machine.state != State::Paused {
                return Err("Cannot save the microVM state: it is not paused.".to_owned());
            }
            if Trouble::of_this_program() == Trouble::NoSnapshots {
                return Err("Cannot save the microVM state: this double does not.".to_owned());
            }
            snapshot::write(&machine.parts, &body)?;
        }
        ("PUT", "/snapshot/load") => load(machine, &checked(fields::SNAPSHOT_LOAD)?)?,
        ("PUT", _) if path.starts_with("/drives/") => {
            machine.take(path, checked(fields::DRIVE)?)?;
        }
        ("PUT", _) if path.starts_with("/network-interfaces/") => {
            let body = checked(fields::NETWORK_INTERFACE)?;
            if path.strip_prefix("/network-interfaces/") != body["iface_id"].as_str() {
                return Err("The id from the path does not match the id from the body!".to_owned());
            }
            machine.take(path, body)?;
        }
        (method, _) => {
            return Err(format!(
                "Invalid request method and/or path: {method} {path}."
            ));
        }
    }
    Ok(None)
}

fn act(machine: &mut Machine, body: &Value) -> Result<(), Fault> {
    match body["action_type"].as_str() {
        Some("InstanceStart") => machine.start(),
        Some(other) => Err(format!("this double does not {other}")),
        None => Err("no action".to_owned()),
    }
}

/// A failure leaves Firecracker unusable, so it ends.
fn load(machine: &mut Machine, body: &Value) -> Result<(), Fault> {
    if Trouble::of_this_program() == Trouble::BadSnapshots {
        complain("Load snapshot error: this double does not");
        end(1);
    }
    let parts: Parts = snapshot::read(body)?;
    machine.restore(parts)?;
    match body["resume_vm"].as_bool() {
        Some(true) => machine.resume(),
        Some(false) | None => Ok(()),
    }
}
