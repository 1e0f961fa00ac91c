//! As much of XML as harnesses write: a stream of tags with their attributes. Text, comments and declarations are passed over,
//! and nothing is ever resolved, so that a document cannot grow.

use std::borrow::Cow;

use super::position::of_byte;
use crate::ParseError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    attributes: Vec<(&'a str, Cow<'a, str>)>,
    /// Where it begins, in bytes.
    byte: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Start,
    End,
    /// Start and end in one.
    Empty,
}

impl<'a> Tag<'a> {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_ref())
    }

    /// An attribute that must be there.
    pub(crate) fn need(&self, text: &str, name: &str) -> Result<&str, ParseError> {
        self.attribute(name).ok_or_else(|| {
            self.error(
                text,
                &format!("expected the attribute `{name}` in <{}>", self.name),
            )
        })
    }

    /// A number that must be there.
    pub(crate) fn number(&self, text: &str, name: &str) -> Result<f64, ParseError> {
        let value = self.need(text, name)?;
        super::number::float(value).ok_or_else(|| {
            let value: String = value.chars().take(64).collect();
            self.error(
                text,
                &format!("expected a finite number in `{name}`, found {value:?}"),
            )
        })
    }

    pub(crate) fn error(&self, text: &str, reason: &str) -> ParseError {
        error(text, self.byte, reason)
    }

    /// The tag's own text, from its `<` on.
    pub(crate) fn line(&self, text: &'a str) -> super::lines::Line<'a> {
        let (number, column) = of_byte(text, self.byte);
        let start = self.byte + 1 - column;
        super::lines::Line {
            number,
            text: text[start..].lines().next().unwrap_or_default(),
        }
    }
}

/// The tags of a document, in order; an error ends them.
pub(crate) fn tags(text: &str) -> impl Iterator<Item = Result<Tag<'_>, ParseError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let tag = next(text, &mut at);
        if tag.is_err() {
            at = text.len();
        }
        tag.transpose()
    })
}

fn next<'a>(text: &'a str, at: &mut usize) -> Result<Option<Tag<'a>>, ParseError> {
    loop {
        let Some(found) = text[*at..].find('<') else {
            return Ok(None);
        };
        let byte = *at + found;
        let rest = &text[byte..];
        let passed_over = [
            ("<!--", "-->"),
            ("<![CDATA[", "]]>"),
            ("<?", "?>"),
            ("<!", ">"),
        ];
        if let Some((_, end)) = passed_over
            .iter()
            .find(|(start, _)| rest.starts_with(start))
        {
            let length = rest
                .find(end)
                .ok_or_else(|| error(text, byte, &format!("expected `{end}` after this")))?;
            *at = byte + length + end.len();
            continue;
        }
        let length =
            end_of_tag(rest).ok_or_else(|| error(text, byte, "expected `>` after this"))?;
        *at = byte + length + 1;
        return read(text, byte, &rest[1..length]).map(Some);
    }
}

/// A `>` within quotes belongs to a value.
fn end_of_tag(rest: &str) -> Option<usize> {
    let mut quote = None;
    for (index, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(index),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

fn read<'a>(text: &str, byte: usize, inside: &'a str) -> Result<Tag<'a>, ParseError> {
    let (inside, kind) = if let Some(name) = inside.strip_prefix('/') {
        (name, Kind::End)
    } else if let Some(empty) = inside.strip_suffix('/') {
        (empty, Kind::Empty)
    } else {
        (inside, Kind::Start)
    };
    let name_end = inside.find(char::is_whitespace).unwrap_or(inside.len());
    let (name, mut rest) = inside.split_at(name_end);
    let mut attributes = Vec::new();
    rest = rest.trim_start();
    while !rest.is_empty() {
        let (attribute, after) = attribute(rest).ok_or_else(|| {
            error(
                text,
                byte,
                &format!("expected attributes like `name=\"value\"` in <{name}>"),
            )
        })?;
        attributes.push(attribute);
        rest = after.trim_start();
    }
    Ok(Tag {
        name,
        kind,
        attributes,
        byte,
    })
}

fn attribute(rest: &str) -> Option<((&str, Cow<'_, str>), &str)> {
    let (name, after) = rest.split_once('=')?;
    let after = after.trim_start();
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (value, after) = after[1..].split_once(quote)?;
    Some(((name.trim(), unescape(value)), after))
}

/// The five entities that XML knows by itself, and characters by number; others stay as they are.
fn unescape(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let mut plain = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let found = after
            .split_once(';')
            .and_then(|(entity, after)| Some((character(entity)?, after)));
        let (character, after) = found.unwrap_or(('&', after));
        plain.push(character);
        rest = after;
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        number => {
            let digits = number.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

fn error(text: &str, byte: usize, reason: &str) -> ParseError {
    let (line, column) = of_byte(text, byte);
    ParseError::Malformed {
        line,
        column,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Tag<'_>>, ParseError> {
        tags(text).collect()
    }

    #[test]
    fn tags_come_in_order_and_the_rest_is_passed_over() {
        let text = "<?xml version='1.0'?><!-- <no/> --><a x=\"1\"> text <b/><![CDATA[<c>]]></a>";
        let tags = all(text).unwrap();
        let shape: Vec<(&str, Kind)> = tags.iter().map(|tag| (tag.name, tag.kind)).collect();
        assert_eq!(
            shape,
            [("a", Kind::Start), ("b", Kind::Empty), ("a", Kind::End)]
        );
        assert_eq!(tags[0].attribute("x"), Some("1"));
    }

    #[test]
    fn entities_are_resolved_and_unknown_ones_stay() {
        let tags = all("<a x='&lt;&#65;&#x42;&gt; &amp;&unknown; & >'/>").unwrap();
        assert_eq!(tags[0].attribute("x"), Some("<AB> &&unknown; & >"));
    }

    #[test]
    fn what_does_not_end_is_pointed_at() {
        for text in ["\n <a x=\"1", "\n <!-- ", "\n <a x>", "\n <a x=1>"] {
            let error = all(text).unwrap_err().to_string();
            assert!(error.starts_with("line 2, column 2: expected"), "{error}");
        }
    }
}
