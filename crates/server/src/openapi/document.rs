//! From the tables to the document.

use serde_json::{Map, Value, json};

use super::operations::{Answer, OPERATIONS, Operation};
use super::schemas::{Field, Kind, PERMISSION, SCHEMAS, Schema};

pub(super) fn document() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = show(operation);
    }
    let schemas: Map<String, Value> = SCHEMAS
        .iter()
        .map(|schema| (schema.name.to_owned(), object(schema)))
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Kiln",
            "description": "Run code on your own machines and trust what comes back.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } },
        },
        // A key may be sent everywhere; paths that need one refuse without.
        "security": [{ "key": [] }, {}],
    })
}

fn show(operation: &Operation) -> Value {
    let mut parameters: Vec<Value> = operation
        .path
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| parameter(name, "path", &part(name)))
        .collect();
    if matches!(operation.answer, Answer::Page(_)) {
        parameters.extend(paging(operation.path));
    }
    if operation.path.ends_with("/usage") {
        let time = json!({ "type": "integer", "description": "milliseconds" });
        let times = ["start_time", "end_time"];
        parameters.extend(times.map(|name| parameter(name, "query", &time)));
    }
    let mut shown = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            operation.status.to_string(): answer(operation),
            "default": {
                "description": "refused",
                "content": { "application/json": { "schema": reference(refusal(operation.path)) } },
            },
        },
    });
    if let Some(body) = operation.body {
        shown["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": reference(body) } },
        });
    }
    shown
}

/// What can stand in a place of a path.
fn part(name: &str) -> Value {
    match name {
        "job" | "key" => json!({ "type": "string", "format": "uuid" }),
        "worker" | "seq" | "iteration" => {
            json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
        }
        "permission" => kind(PERMISSION),
        "stream" => json!({ "type": "string", "enum": ["stdout", "stderr", "file"] }),
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}

/// The registry and its token endpoint refuse in the words of their own specifications.
fn refusal(path: &str) -> &'static str {
    let is_registry = path.starts_with("/v2") || path == "/v0/auth/oci/token";
    if is_registry {
        "RegistryErrors"
    } else {
        "Error"
    }
}

fn answer(operation: &Operation) -> Value {
    let json = |schema: Value| {
        json!({
            "description": "done",
            "content": { "application/json": { "schema": schema } },
        })
    };
    let list = |name: &str| json!({ "type": "array", "items": reference(name) });
    match operation.answer {
        Answer::Nothing => json!({ "description": "done" }),
        Answer::Text => json!({
            "description": "done",
            "content": { "text/plain": { "schema": { "type": "string" } } },
        }),
        Answer::Picture => json!({
            "description": "done",
            "content": { "image/png": {}, "image/svg+xml": {} },
        }),
        Answer::Program => json!({
            "description": "done",
            "content": { "application/octet-stream": {} },
        }),
        Answer::Socket => json!({ "description": "the connection becomes a WebSocket" }),
        Answer::Anything => json(json!({})),
        Answer::One(name) => json(reference(name)),
        Answer::All(name) => json(list(name)),
        Answer::Page(name) => {
            let mut shown = json(list(name));
            shown["headers"] = json!({
                "X-Total-Count": {
                    "description": "how long the whole list is",
                    "schema": { "type": "integer", "minimum": 0 },
                },
            });
            shown
        }
    }
}

fn paging(path: &str) -> Vec<Value> {
    let text = json!({ "type": "string" });
    let sorts: &[&str] = match path.strip_prefix("/v0/projects/{project}/") {
        Some("branches" | "testbeds" | "benchmarks" | "measures" | "images") => &["name"],
        Some("reports") => &["date_time"],
        Some("thresholds" | "alerts") => &["created", "modified"],
        Some("plots") => &["index", "title"],
        Some("jobs") => &["created"],
        _ => &["name", "created"],
    };
    let sort = json!({ "type": "string", "enum": sorts });
    vec![
        parameter("name", "query", &text),
        parameter("search", "query", &text),
        parameter("sort", "query", &sort),
        parameter(
            "direction",
            "query",
            &json!({ "type": "string", "enum": ["asc", "desc"] }),
        ),
        parameter(
            "per_page",
            "query",
            &json!({ "type": "integer", "minimum": 0, "maximum": 255, "default": 8 }),
        ),
        parameter(
            "page",
            "query",
            &json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 1 }),
        ),
    ]
}

fn parameter(name: &str, place: &str, schema: &Value) -> Value {
    json!({ "name": name, "in": place, "required": place == "path", "schema": schema })
}

fn object(schema: &Schema) -> Value {
    let properties: Map<String, Value> = schema
        .fields
        .iter()
        .map(|field| (field.name.to_owned(), property(field)))
        .collect();
    let required: Vec<&str> = schema
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn property(field: &Field) -> Value {
    let schema = kind(field.kind);
    if field.nullable {
        json!({ "anyOf": [schema, { "type": "null" }] })
    } else {
        schema
    }
}

fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Uuid => json!({ "type": "string", "format": "uuid" }),
        Kind::Time => json!({ "type": "string", "format": "date-time" }),
        Kind::Integer => json!({ "type": "integer" }),
        Kind::Number => json!({ "type": "number" }),
        Kind::Between(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Matching(pattern) => json!({
            "type": "string",
            "pattern": pattern.expression,
            "minLength": 1,
            "maxLength": pattern.longest,
        }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Anything => json!({}),
        Kind::OneOf(values) => json!({ "type": "string", "enum": values }),
        Kind::One(name) => reference(name),
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Many(name) => json!({ "type": "array", "items": reference(name) }),
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
