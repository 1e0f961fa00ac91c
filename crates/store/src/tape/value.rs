//! Values as JSON: exact, and readable where they can be.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Row, Value};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // JSON has neither infinities nor bytes; the text of a float is exact.
            Self::Real(real) => tagged(serializer, "real", &real.to_string()),
            Self::Blob(bytes) => tagged(serializer, "hex", &kiln_kernel::hex::encode(bytes)),
            Self::Null => serializer.serialize_unit(),
            Self::Int(int) => serializer.serialize_i64(*int),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Int(i64),
            Text(String),
            Real { real: String },
            Hex { hex: String },
            Null,
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Null => Self::Null,
            Written::Int(int) => Self::Int(int),
            Written::Text(text) => Self::Text(text),
            Written::Real { real } => Self::Real(real.parse().map_err(D::Error::custom)?),
            Written::Hex { hex } => Self::Blob(
                kiln_kernel::hex::decode(&hex)
                    .ok_or_else(|| D::Error::custom("not hexadecimal"))?,
            ),
        })
    }
}

fn tagged<S: Serializer>(serializer: S, tag: &str, text: &str) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(tag, text)?;
    map.end()
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self)
    }
}
