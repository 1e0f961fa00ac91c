//! Objects within objects. What serde derives for a struct takes an array too, as its members in order; nobody means that,
//! and a start point of `[null]` would begin a branch anew.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// An object, or nothing; for `#[serde(deserialize_with)]`.
pub(super) fn optional<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let read = Option::<Object<T>>::deserialize(deserializer)?;
    Ok(read.map(|Object(value)| value))
}

/// Objects by their names, or nothing.
pub(super) fn optional_each<'de, T, D>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let read = Option::<BTreeMap<String, Object<T>>>::deserialize(deserializer)?;
    let plain = |(name, Object(value))| (name, value);
    Ok(read.map(|map| map.into_iter().map(plain).collect()))
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(PhantomData))
    }
}

struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Object)
    }
}

#[cfg(test)]
mod tests {
    use crate::v0::{DimensionPatch, NewRun};

    #[test]
    fn an_array_is_no_object() {
        let patch = serde_json::from_str::<DimensionPatch>(r#"{"start_point": [null]}"#);
        let error = patch.unwrap_err().to_string();
        assert!(error.contains("expected an object"), "{error}");
        for text in [
            r#"{"start_point": ["main"]}"#,
            r#"{"thresholds": [null]}"#,
            r#"{"thresholds": {"models": {"latency": ["t_test"]}}}"#,
            r#"{"settings": ["json"]}"#,
            r#"{"job": ["image"]}"#,
            r#"{"job": {"image": "a", "paired": ["b"]}}"#,
        ] {
            let run = serde_json::from_str::<NewRun>(text);
            assert!(run.is_err(), "{text} was taken");
        }
    }

    #[test]
    fn objects_and_nothing_are_taken() {
        let text = r#"{"start_point": {"branch": "main"}, "job": null, "settings": {"adapter": "json"},
            "thresholds": {"models": {"latency": {"test": "t_test"}}}}"#;
        let run: NewRun = serde_json::from_str(text).unwrap();
        assert_eq!(run.start_point.unwrap().branch.as_deref(), Some("main"));
        assert!(run.job.is_none() && run.settings.unwrap().adapter.is_some());
        assert!(
            run.thresholds
                .unwrap()
                .models
                .unwrap()
                .contains_key("latency")
        );
    }
}
