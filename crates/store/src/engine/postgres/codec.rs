//! Values to and from PostgreSQL's binary format, whatever width the column has.

use std::error::Error as StdError;

use bytes::{BufMut, BytesMut};
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::{DatabaseErrorKind, Error, Row, Value};

/// A value that is known to fit the type of its parameter.
#[derive(Debug)]
pub(super) struct Bound<'a>(&'a Value);

/// The types to declare for parameters; the server finds out that of a null by itself.
pub(super) fn types(params: &[Value]) -> Vec<Type> {
    let declared = params.iter().map(|value| match value {
        Value::Null => Type::UNKNOWN,
        Value::Int(_) => Type::INT8,
        Value::Real(_) => Type::FLOAT8,
        Value::Text(_) => Type::TEXT,
        Value::Blob(_) => Type::BYTEA,
    });
    declared.collect()
}

/// Whether a statement takes these parameters as they are.
pub(super) fn fit(params: &[Value], types: &[Type]) -> bool {
    params.len() == types.len() && params.iter().zip(types).all(|(value, ty)| fits(value, ty))
}

/// Says which parameter does not fit.
pub(super) fn check(sql: &str, params: &[Value], types: &[Type]) -> Result<(), Error> {
    let other = |message| Error::database(DatabaseErrorKind::Other, message);
    if params.len() != types.len() {
        let (given, wanted) = (params.len(), types.len());
        return Err(other(format!(
            "{given} parameters for the {wanted} of: {sql}"
        )));
    }
    let pairs = params.iter().zip(types).enumerate();
    for (index, (value, ty)) in pairs {
        if !fits(value, ty) {
            let number = index + 1;
            return Err(other(format!(
                "parameter ?{number} is {value:?}, expected {ty}: {sql}"
            )));
        }
    }
    Ok(())
}

pub(super) fn bind(params: &[Value]) -> Vec<Bound<'_>> {
    params.iter().map(Bound).collect()
}

pub(super) fn borrow<'a>(bound: &'a [Bound<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    bound
        .iter()
        .map(|value| value as &(dyn ToSql + Sync))
        .collect()
}

pub(super) fn row(row: &postgres::Row) -> Result<Row, Error> {
    let columns = row.columns().iter().enumerate();
    let values: Result<Vec<Value>, Error> = columns
        .map(|(index, column)| {
            let raw: Raw<'_> = row
                .try_get(index)
                .map_err(|failure| corrupt(failure.to_string()))?;
            raw.0
                .map_or(Ok(Value::Null), |bytes| decode(column.type_(), bytes))
        })
        .collect();
    values.map(Row)
}

fn fits(value: &Value, ty: &Type) -> bool {
    match value {
        Value::Null => true,
        Value::Int(v) => match *ty {
            Type::INT8 | Type::FLOAT8 => true,
            Type::INT4 => i32::try_from(*v).is_ok(),
            Type::INT2 => i16::try_from(*v).is_ok(),
            Type::BOOL => matches!(v, 0 | 1),
            _ => false,
        },
        Value::Real(_) => *ty == Type::FLOAT8,
        Value::Text(_) => is_text(ty),
        Value::Blob(_) => *ty == Type::BYTEA,
    }
}

fn is_text(ty: &Type) -> bool {
    matches!(
        *ty,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN
    )
}

impl ToSql for Bound<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            Value::Null => return Ok(IsNull::Yes),
            Value::Int(v) => match *ty {
                Type::INT2 => out.put_i16(i16::try_from(*v)?),
                Type::INT4 => out.put_i32(i32::try_from(*v)?),
                Type::BOOL => out.put_u8(u8::from(*v != 0)),
                #[expect(clippy::cast_precision_loss, reason = "the column holds no more")]
                Type::FLOAT8 => out.put_f64(*v as f64),
                _ => out.put_i64(*v),
            },
            Value::Real(v) => out.put_f64(*v),
            Value::Text(v) => out.put_slice(v.as_bytes()),
            Value::Blob(v) => out.put_slice(v),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The bytes of a column as they came.
struct Raw<'a>(Option<&'a [u8]>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn decode(ty: &Type, bytes: &[u8]) -> Result<Value, Error> {
    let short = || corrupt(format!("{} bytes for a column of type {ty}", bytes.len()));
    let value = match *ty {
        Type::BOOL => bytes.first().map(|byte| Value::Int(i64::from(*byte))),
        Type::INT2 => bytes
            .try_into()
            .ok()
            .map(|raw| Value::Int(i16::from_be_bytes(raw).into())),
        Type::INT4 => bytes
            .try_into()
            .ok()
            .map(|raw| Value::Int(i32::from_be_bytes(raw).into())),
        Type::INT8 => bytes
            .try_into()
            .ok()
            .map(|raw| Value::Int(i64::from_be_bytes(raw))),
        Type::FLOAT4 => bytes
            .try_into()
            .ok()
            .map(|raw| Value::Real(f32::from_be_bytes(raw).into())),
        Type::FLOAT8 => bytes
            .try_into()
            .ok()
            .map(|raw| Value::Real(f64::from_be_bytes(raw))),
        Type::NUMERIC => numeric(bytes),
        Type::BYTEA => Some(Value::Blob(bytes.to_vec())),
        Type::VOID => Some(Value::Null),
        _ if is_text(ty) => std::str::from_utf8(bytes)
            .ok()
            .map(|text| Value::Text(text.to_owned())),
        _ => {
            return Err(corrupt(format!(
                "a column of type {ty}, which Kiln does not use"
            )));
        }
    };
    value.ok_or_else(short)
}

/// What `SUM` and `AVG` of integers answer: digits to the base 10,000. Whole ones are integers, the others reals.
fn numeric(bytes: &[u8]) -> Option<Value> {
    const NEGATIVE: i16 = 0x4000;
    let words: Vec<i16> = bytes
        .chunks_exact(2)
        .map(|pair| i16::from_be_bytes([pair[0], pair[1]]))
        .collect();
    let [_, weight, sign, scale, digits @ ..] = words.as_slice() else {
        return None;
    };
    if *sign != 0 && *sign != NEGATIVE {
        return None;
    }
    if *scale > 0 {
        let start = 10_000_f64.powi((*weight).into());
        let (sum, _) = digits.iter().fold((0.0, start), |(sum, unit), digit| {
            (sum + f64::from(*digit) * unit, unit / 10_000.0)
        });
        return Some(Value::Real(if *sign == NEGATIVE { -sum } else { sum }));
    }
    // Trailing zero digits are left out on the wire.
    let mut value: i64 = 0;
    for place in 0..=i32::from(*weight) {
        let digit = usize::try_from(place)
            .ok()
            .and_then(|place| digits.get(place))
            .copied()
            .unwrap_or(0);
        value = value.checked_mul(10_000)?.checked_add(digit.into())?;
    }
    Some(Value::Int(if *sign == NEGATIVE { -value } else { value }))
}

fn corrupt(what: String) -> Error {
    Error::Corrupt { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[i16], expect: Value) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(numeric(&bytes), Some(expect));
    }

    #[test]
    fn sums_are_integers_and_averages_reals() {
        check(&[0, 0, 0, 0], Value::Int(0));
        check(&[2, 1, 0, 0, 1, 2345], Value::Int(12_345));
        check(&[1, 1, 0, 0, 3], Value::Int(30_000));
        check(&[1, 0, 0x4000, 0, 7], Value::Int(-7));
        check(&[2, 0, 0, 2, 2, 5000], Value::Real(2.5));
        check(&[0, 0, 0, 4], Value::Real(0.0));
    }

    #[test]
    fn an_integer_goes_into_a_column_only_if_it_fits() {
        assert!(fits(&Value::Int(40_000), &Type::INT4));
        assert!(!fits(&Value::Int(40_000), &Type::INT2));
        assert!(!fits(&Value::Int(1), &Type::TEXT));
        assert!(!fits(&Value::Int(2), &Type::BOOL));
    }
}
