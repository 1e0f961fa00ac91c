//! The few types that cross the SQL boundary, the same on both engines.

use kiln_model::Millis;

use crate::Error;

/// A parameter or a column. Booleans are 0 and 1; times are milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

macro_rules! from_value {
    ($($from:ty => |$v:ident| $to:expr),* $(,)?) => {
        $(impl From<$from> for Value { fn from($v: $from) -> Self { $to } })*
    };
}

from_value! {
    i64 => |v| Value::Int(v),
    i32 => |v| Value::Int(i64::from(v)),
    u32 => |v| Value::Int(i64::from(v)),
    u8 => |v| Value::Int(i64::from(v)),
    bool => |v| Value::Int(i64::from(v)),
    f64 => |v| Value::Real(v),
    &str => |v| Value::Text(v.to_owned()),
    String => |v| Value::Text(v),
    &[u8] => |v| Value::Blob(v.to_vec()),
    Vec<u8> => |v| Value::Blob(v),
    Millis => |v| Value::Int(v.0),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The parameters of a statement, in order: `params![job, epoch]` binds `?1` and `?2`.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::Value::from($value)),*] };
}

/// One row of an answer, columns by position.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub Vec<Value>);

/// What a column can be read as.
pub trait FromValue: Sized {
    const NAME: &'static str;
    fn from_value(value: &Value) -> Option<Self>;
}

impl Row {
    /// Column `index` as `T`; a column of another type is [`Error::Corrupt`], never a panic.
    pub fn get<T: FromValue>(&self, index: usize) -> Result<T, Error> {
        let value = self.0.get(index);
        value
            .and_then(T::from_value)
            .ok_or_else(|| self.unexpected(index, T::NAME))
    }

    /// Column `index` as text that is only looked at.
    pub(crate) fn text(&self, index: usize) -> Result<&str, Error> {
        match self.0.get(index) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(self.unexpected(index, String::NAME)),
        }
    }

    fn unexpected(&self, index: usize, expected: &str) -> Error {
        let found = self.0.get(index);
        Error::Corrupt {
            what: format!("column {index} is {found:?}, expected {expected}"),
        }
    }
}

macro_rules! read_value {
    ($($ty:ty, $name:literal, $pattern:pat => $out:expr;)*) => {
        $(impl FromValue for $ty {
            const NAME: &'static str = $name;
            fn from_value(value: &Value) -> Option<Self> {
                if let $pattern = value { $out } else { None }
            }
        })*
    };
}

read_value! {
    i64, "an integer", Value::Int(v) => Some(*v);
    i32, "a 32-bit integer", Value::Int(v) => i32::try_from(*v).ok();
    u32, "a 32-bit unsigned integer", Value::Int(v) => u32::try_from(*v).ok();
    u8, "a byte", Value::Int(v) => u8::try_from(*v).ok();
    u64, "an unsigned integer", Value::Int(v) => u64::try_from(*v).ok();
    bool, "0 or 1", Value::Int(v) => match v { 0 => Some(false), 1 => Some(true), _ => None };
    f64, "a real number", Value::Real(v) => Some(*v);
    String, "text", Value::Text(v) => Some(v.clone());
    Vec<u8>, "bytes", Value::Blob(v) => Some(v.clone());
    Millis, "a time in milliseconds", Value::Int(v) => Some(Millis(*v));
}

impl<T: FromValue> FromValue for Option<T> {
    const NAME: &'static str = T::NAME;
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            Value::Int(_) | Value::Real(_) | Value::Text(_) | Value::Blob(_) => {
                T::from_value(value).map(Some)
            }
        }
    }
}
