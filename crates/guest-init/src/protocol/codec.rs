//! The byte encoding of message bodies: little-endian integers, length-prefixed strings and lists, nothing optional.

use std::fmt;

/// Bytes that are no message of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The body ends in the middle of a field.
    Short,
    /// The body goes on after its last field.
    Trailing,
    /// A tag, flag or kind has no meaning.
    Tag(u8),
    /// A string is not UTF-8.
    Text,
    /// The frame announces a body larger than allowed.
    TooLong(u32),
    /// The other side speaks another version.
    Version(u8),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("message ends in the middle of a field"),
            Self::Trailing => f.write_str("message goes on after its last field"),
            Self::Tag(tag) => write!(f, "unknown tag {tag}"),
            Self::Text => f.write_str("string is not utf-8"),
            Self::TooLong(length) => write!(f, "message of {length} bytes is too long"),
            Self::Version(version) => write!(f, "guest protocol version {version} is not ours"),
        }
    }
}

impl std::error::Error for Malformed {}

/// A value with a place on the wire.
pub(super) trait Wire: Sized {
    fn encode(&self, out: &mut Vec<u8>);
    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed>;
}

/// What is left of a body.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    pub(super) fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Trailing)
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(count).ok_or(Malformed::Short)?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_first_chunk::<N>().ok_or(Malformed::Short)?;
        self.0 = tail;
        Ok(*head)
    }
}

macro_rules! wire_integer {
    ($($integer:ty),*) => {$(
        impl Wire for $integer {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
                Ok(Self::from_le_bytes(input.array()?))
            }
        }
    )*};
}

wire_integer!(u8, u16, u32, u64, i32);

impl Wire for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        u8::from(*self).encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        match u8::decode(input)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Malformed::Tag(other)),
        }
    }
}

impl Wire for String {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_bytes(self.as_bytes(), out);
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let bytes = decode_bytes(input)?;
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| Malformed::Text)
    }
}

/// A list. An element takes at least one byte, so a body's own length bounds what a count can make us allocate.
impl<T: Wire> Wire for Vec<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_length(self.len(), out);
        for element in self {
            element.encode(out);
        }
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let count = decode_length(input)?;
        if count > input.0.len() {
            return Err(Malformed::Short);
        }
        (0..count).map(|_| T::decode(input)).collect()
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok((A::decode(input)?, B::decode(input)?))
    }
}

pub(super) fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    encode_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

pub(super) fn decode_bytes<'a>(input: &mut Input<'a>) -> Result<&'a [u8], Malformed> {
    let length = decode_length(input)?;
    input.take(length)
}

fn encode_length(length: usize, out: &mut Vec<u8>) {
    u32::try_from(length)
        .expect("a message is built from parts far below 4 GiB")
        .encode(out);
}

fn decode_length(input: &mut Input<'_>) -> Result<usize, Malformed> {
    usize::try_from(u32::decode(input)?).map_err(|_| Malformed::Short)
}

/// Gives a struct its place on the wire: its fields, in order.
macro_rules! wire_struct {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::protocol::codec::Wire for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                $(self.$field.encode(out);)*
            }
            fn decode(
                input: &mut $crate::protocol::codec::Input<'_>,
            ) -> Result<Self, $crate::protocol::codec::Malformed> {
                Ok(Self { $($field: $crate::protocol::codec::Wire::decode(input)?),* })
            }
        }
    };
}

/// Gives a field-less enum its place on the wire: one byte per variant.
macro_rules! wire_tags {
    ($name:ident { $($variant:ident = $tag:literal),* $(,)? }) => {
        impl $crate::protocol::codec::Wire for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                out.push(match self { $(Self::$variant => $tag),* });
            }
            fn decode(
                input: &mut $crate::protocol::codec::Input<'_>,
            ) -> Result<Self, $crate::protocol::codec::Malformed> {
                match <u8 as $crate::protocol::codec::Wire>::decode(input)? {
                    $($tag => Ok(Self::$variant),)*
                    other => Err($crate::protocol::codec::Malformed::Tag(other)),
                }
            }
        }
    };
}

pub(super) use {wire_struct, wire_tags};
