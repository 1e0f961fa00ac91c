//! What the body of a request may have: the fields of the published API, and no others.

use serde_json::Value;

use super::http::Fault;

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Number,
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    Object(&'static [Field]),
}

pub(super) struct Field {
    name: &'static str,
    kind: Kind,
    is_required: bool,
}

const fn required(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        is_required: true,
    }
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        is_required: false,
    }
}

pub(super) const MACHINE_CONFIG: &[Field] = &[
    required("vcpu_count", Kind::Number),
    required("mem_size_mib", Kind::Number),
    optional("smt", Kind::Flag),
    optional("track_dirty_pages", Kind::Flag),
    optional("huge_pages", Kind::Word(&["None", "2M"])),
];

pub(super) const BOOT_SOURCE: &[Field] = &[
    required("kernel_image_path", Kind::Text),
    optional("initrd_path", Kind::Text),
    optional("boot_args", Kind::Text),
];

pub(super) const DRIVE: &[Field] = &[
    required("drive_id", Kind::Text),
    required("is_root_device", Kind::Flag),
    required("path_on_host", Kind::Text),
    optional("is_read_only", Kind::Flag),
    optional("partuuid", Kind::Text),
    optional("cache_type", Kind::Word(&["Unsafe", "Writeback"])),
    optional("io_engine", Kind::Word(&["Sync", "Async"])),
];

pub(super) const VSOCK: &[Field] = &[
    required("guest_cid", Kind::Number),
    required("uds_path", Kind::Text),
    optional("vsock_id", Kind::Text),
];

pub(super) const NETWORK_INTERFACE: &[Field] = &[
    required("iface_id", Kind::Text),
    required("host_dev_name", Kind::Text),
    optional("guest_mac", Kind::Text),
];

pub(super) const ENTROPY: &[Field] = &[];

pub(super) const ACTION: &[Field] = &[required(
    "action_type",
    Kind::Word(&["FlushMetrics", "InstanceStart", "SendCtrlAltDel"]),
)];

pub(super) const VM: &[Field] = &[required("state", Kind::Word(&["Paused", "Resumed"]))];

pub(super) const SNAPSHOT_CREATE: &[Field] = &[
    required("snapshot_path", Kind::Text),
    required("mem_file_path", Kind::Text),
    optional("snapshot_type", Kind::Word(&["Full", "Diff"])),
];

const MEMORY_BACKEND: &[Field] = &[
    required("backend_type", Kind::Word(&["File", "Uffd"])),
    required("backend_path", Kind::Text),
];

/// As of 1.15, which cannot yet be told another place for its vsock.
pub(super) const SNAPSHOT_LOAD: &[Field] = &[
    required("snapshot_path", Kind::Text),
    required("mem_backend", Kind::Object(MEMORY_BACKEND)),
    optional("track_dirty_pages", Kind::Flag),
    optional("enable_diff_snapshots", Kind::Flag),
    optional("resume_vm", Kind::Flag),
];

/// Refuses a body that has a field too many, one too few, or one of another kind.
pub(super) fn check(body: &Value, fields: &[Field]) -> Result<(), Fault> {
    let Value::Object(given) = body else {
        return Err("invalid type: expected a struct".to_owned());
    };
    if let Some(name) = given
        .keys()
        .find(|name| !fields.iter().any(|field| field.name == *name))
    {
        return Err(format!("unknown field `{name}`"));
    }
    for field in fields {
        match given.get(field.name) {
            Some(value) => check_kind(field, value)?,
            None if field.is_required => return Err(format!("missing field `{}`", field.name)),
            None => {}
        }
    }
    Ok(())
}

fn check_kind(field: &Field, value: &Value) -> Result<(), Fault> {
    let is_right = match field.kind {
        Kind::Text => value.is_string(),
        Kind::Number => value.is_u64(),
        Kind::Flag => value.is_boolean(),
        Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Kind::Object(fields) => return check(value, fields),
    };
    if is_right {
        Ok(())
    } else {
        Err(format!("invalid value for `{}`: {value}", field.name))
    }
}
