//! The kernel's descriptions as JSON. Bytes are hex, and text too where they are text.

use kiln_kernel::describe::Node;
use kiln_kernel::hex;
use serde_json::{Map, Value, json};

pub(super) fn json(node: &Node) -> Value {
    match node {
        Node::Text(text) => Value::from(text.as_str()),
        // Beyond 64 bits JSON numbers lose digits.
        Node::Number(number) => i64::try_from(*number)
            .map(Value::from)
            .or_else(|_| u64::try_from(*number).map(Value::from))
            .unwrap_or_else(|_| Value::from(number.to_string())),
        Node::Flag(flag) => Value::from(*flag),
        Node::Bytes(bytes) => bytes_json(bytes),
        Node::Nothing => Value::Null,
        Node::List(items) => items.iter().map(json).collect(),
        Node::Fields(fields) => {
            let fields = fields
                .iter()
                .map(|(name, node)| ((*name).to_owned(), json(node)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

fn bytes_json(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => {
            json!({ "hex": hex::encode(bytes), "text": text })
        }
        _ => json!({ "hex": hex::encode(bytes) }),
    }
}

/// Bytes from JSON: a text stands for itself, an object for its `hex`.
pub(super) fn bytes_from(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Object(fields) => match (fields.get("hex"), fields.get("text")) {
            (Some(Value::String(digits)), _) => hex::decode(digits),
            (None, Some(Value::String(text))) => Some(text.clone().into_bytes()),
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}
