use std::collections::BTreeSet;
use std::path::Path;

use roas::v3_1::spec::Spec;
use roas::validation::{Options, Validate as _};
use serde_json::Value;

use super::DOCUMENT;

#[test]
fn every_route_is_in_the_document_and_nothing_else_is() {
    let mut routes = BTreeSet::new();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    collect(&sources, &mut routes);
    let mut documented = BTreeSet::new();
    for (path, operations) in DOCUMENT["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            documented.insert((path.clone(), method.clone()));
        }
    }
    let missing: Vec<_> = routes.difference(&documented).collect();
    assert!(
        missing.is_empty(),
        "add to openapi/operations.rs: {missing:?}"
    );
    let gone: Vec<_> = documented.difference(&routes).collect();
    assert!(gone.is_empty(), "no route answers these: {gone:?}");
}

#[test]
fn operation_ids_are_unique() {
    let mut seen = BTreeSet::new();
    for operations in DOCUMENT["paths"].as_object().unwrap().values() {
        for operation in operations.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(seen.insert(id.to_owned()), "{id} is there twice");
        }
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let text = DOCUMENT.to_string();
    let schemas = DOCUMENT["components"]["schemas"].as_object().unwrap();
    let mut used = BTreeSet::new();
    for piece in text.split("#/components/schemas/").skip(1) {
        let name = piece.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "there is no schema {name}");
        used.insert(name);
    }
    for name in schemas.keys() {
        assert!(
            used.contains(name.as_str()),
            "nobody uses the schema {name}"
        );
    }
}

fn validate(document: &Value) -> Result<(), String> {
    let read: Spec = serde_json::from_value(document.clone()).map_err(|error| error.to_string())?;
    // Nothing here has a tag.
    let checked = read.validate(Options::IgnoreMissingTags.into(), None);
    checked.map_err(|error| error.to_string())
}

#[test]
fn somebody_elses_validator_finds_no_fault_in_the_document() {
    validate(&DOCUMENT).unwrap();
}

#[test]
fn the_validator_notices_what_is_wrong() {
    let check = |what: &str, break_it: fn(&mut Value)| {
        let mut broken = DOCUMENT.clone();
        break_it(&mut broken);
        assert!(validate(&broken).is_err(), "{what} is not noticed");
    };
    check("a reference to nothing", |document| {
        let schemas = document["components"]["schemas"].as_object_mut();
        schemas.unwrap().remove("Job").unwrap();
    });
    check("an operation twice", |document| {
        let run = &mut document["paths"]["/v0/run"]["post"];
        run["operationId"] = "get_job".into();
    });
    check("another format", |document| {
        document["openapi"] = "2.0".into();
    });
}

/// The `.route("path", method(…)…)` calls below a directory.
fn collect(directory: &Path, routes: &mut BTreeSet<(String, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                collect(&path, routes);
            }
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for call in text.split(".route(").skip(1) {
                routes.extend(read(call));
            }
        }
    }
}

/// The path and the methods of one call, whose text begins after the parenthesis.
fn read(call: &str) -> Vec<(String, String)> {
    let mut depth = 1;
    let end = call.find(|c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    });
    let call = &call[..end.expect("parentheses match")];
    let path = call.split('"').nth(1).expect("a path is a literal");
    let path = path.replace("{*", "{");
    let words = call.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '(');
    let methods = words.flat_map(|word| -> &[&str] {
        match word.split('(').next().unwrap_or_default() {
            _ if !word.contains('(') => &[],
            "get" => &["get"],
            "post" => &["post"],
            "put" => &["put"],
            "patch" => &["patch"],
            "delete" => &["delete"],
            "any" => &["get", "head", "post", "put", "patch", "delete"],
            _ => &[],
        }
    });
    methods
        .map(|method| (path.clone(), (*method).to_owned()))
        .collect()
}
