//! Answers held against the document. For tests only, of this crate and from outside.

use serde_json::Value;

/// What is wrong with an answer, held against the document.
pub(crate) fn complaint(
    document: &Value,
    (method, path): (&str, &str),
    (status, body): (u16, &Value),
) -> Option<String> {
    let path = path.split('?').next().unwrap_or_default();
    let path = format!("/{}", path.trim_start_matches('/'));
    let (template, operations) = document["paths"]
        .as_object()?
        .iter()
        .find(|(template, _)| fits(template, &path))?;
    let operation = operations.get(method.to_lowercase())?;
    let responses = &operation["responses"];
    let response = match responses.get(status.to_string()) {
        Some(response) => response,
        None if status >= 400 => &responses["default"],
        None => return Some(format!("{method} {template} has no answer {status}")),
    };
    let schema = response.pointer("/content/application~1json/schema")?;
    mismatch(document, schema, body)
        .map(|what| format!("{method} {template} {status}: {what}: {body}"))
}

fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template
            .iter()
            .zip(&path)
            .all(|(expected, found)| expected.starts_with('{') || expected == found)
}

/// As much of JSON Schema as the document uses.
fn mismatch(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.strip_prefix('#')?)?;
        return mismatch(document, schema, value);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let first = choices
            .iter()
            .map(|choice| mismatch(document, choice, value));
        return first.reduce(Option::and).flatten();
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        return Some(format!("{value} is none of {allowed:?}"));
    }
    let good = match schema["type"].as_str() {
        Some("null") => value.is_null(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => {
            let Some(items) = value.as_array() else {
                return Some(format!("{value} is no array"));
            };
            return items
                .iter()
                .find_map(|item| mismatch(document, &schema["items"], item));
        }
        Some("object") => return object_mismatch(document, schema, value),
        _ => true,
    };
    (!good).then(|| format!("{value} is no {}", schema["type"]))
}

fn object_mismatch(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let Some(members) = value.as_object() else {
        return Some(format!("{value} is no object"));
    };
    let properties = schema["properties"].as_object()?;
    let required = schema["required"].as_array()?;
    let missing = required
        .iter()
        .filter_map(Value::as_str)
        .find(|name| !members.contains_key(*name));
    if let Some(missing) = missing {
        return Some(format!("{missing} is missing"));
    }
    members.iter().find_map(|(name, member)| {
        let Some(property) = properties.get(name) else {
            return Some(format!("{name} is not in the document"));
        };
        mismatch(document, property, member).map(|what| format!("{name}: {what}"))
    })
}
