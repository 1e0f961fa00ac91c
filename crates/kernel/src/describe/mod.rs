//! Frames, keys and records for people: a plain tree that a tool turns into JSON or text.

mod frame;
mod key;
mod value;

pub use frame::{frame, intent, message};
pub use key::key;
pub use value::value;

/// One described thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Text(String),
    Number(i128),
    Flag(bool),
    Bytes(Vec<u8>),
    /// The field exists and has no value.
    Nothing,
    List(Vec<Self>),
    /// Fields in the order in which they are to be read.
    Fields(Vec<(&'static str, Self)>),
}

impl Node {
    /// The field of this name, if this has fields and it is one of them.
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Fields(fields) => fields
                .iter()
                .find(|(field, _)| *field == name)
                .map(|(_, node)| node),
            Self::Text(_)
            | Self::Number(_)
            | Self::Flag(_)
            | Self::Bytes(_)
            | Self::Nothing
            | Self::List(_) => None,
        }
    }
}

fn text(text: &str) -> Node {
    Node::Text(text.to_owned())
}

fn number(number: impl Into<i128>) -> Node {
    Node::Number(number.into())
}

fn bytes(bytes: &[u8]) -> Node {
    Node::Bytes(bytes.to_vec())
}

#[cfg(test)]
mod tests;
