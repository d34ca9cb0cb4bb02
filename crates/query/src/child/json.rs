//! Writes a result as JSON.
//!
//! jaq's values can be more than JSON: NaN, infinities, bytes, keys that are not strings. The
//! output is always JSON, so these values are written as jq does: NaN as `null`, and an infinity as
//! the greatest number. A key that is not a string is an error.

use std::fmt;

use jaq_json::{Map, Num, Val, write};

/// A key is not a string. jq rejects such a key when the object is built.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NonStringKey(String);

impl fmt::Display for NonStringKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object keys must be strings, not {}", self.0)
    }
}

/// Returns the text of a value: JSON without white space, or the string itself if `raw` is set.
pub(crate) fn render(value: &Val, raw: bool) -> Result<Vec<u8>, NonStringKey> {
    let mut text = Vec::new();
    match value {
        Val::TStr(string) | Val::BStr(string) if raw => text.extend_from_slice(string),
        value if is_json(value) => put(&mut text, value),
        value => put(&mut text, &as_json(value)?),
    }
    Ok(text)
}

/// Checks whether a value can be written.
pub(crate) fn check(value: &Val) -> Result<(), NonStringKey> {
    match is_json(value) {
        true => Ok(()),
        false => as_json(value).map(drop),
    }
}

fn put(text: &mut Vec<u8>, value: &Val) {
    write::write(text, &write::Pp::default(), 0, value)
        .expect("invariant: memory takes what is written");
}

/// Returns whether jaq writes the value as JSON.
fn is_json(value: &Val) -> bool {
    match value {
        Val::Num(Num::Float(number)) => number.is_finite(),
        Val::Num(Num::Dec(digits)) => is_number(digits),
        Val::Null | Val::Bool(_) | Val::TStr(_) | Val::Num(_) => true,
        Val::BStr(_) => false,
        Val::Arr(all) => all.iter().all(is_json),
        Val::Obj(members) => members
            .iter()
            .all(|(key, value)| matches!(key, Val::TStr(_)) && is_json(value)),
    }
}

/// Returns whether the digits are a JSON number. jaq's parser also accepts `+1.5` and `01.5` and
/// keeps their digits.
fn is_number(digits: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(digits).is_ok()
}

/// Returns the value that jq would write in place of a value that JSON cannot represent.
fn as_json(value: &Val) -> Result<Val, NonStringKey> {
    Ok(match value {
        Val::Num(Num::Float(number)) => float(*number),
        Val::Num(Num::Dec(digits)) if !is_number(digits) => {
            float(digits.parse().unwrap_or(f64::NAN))
        }
        Val::BStr(bytes) => Val::utf8_str(bytes.to_vec()),
        Val::Arr(all) => all.iter().map(as_json).collect::<Result<_, _>>()?,
        Val::Obj(members) => {
            let mut object = Map::default();
            for (key, value) in members.iter() {
                let (Val::TStr(name) | Val::BStr(name)) = key else {
                    return Err(NonStringKey(key.to_string()));
                };
                object.insert(Val::utf8_str(name.to_vec()), as_json(value)?);
            }
            Val::obj(object)
        }
        plain => plain.clone(),
    })
}

/// Returns a number as jq writes it.
fn float(number: f64) -> Val {
    let greatest = |digits: &str| Val::Num(Num::Dec(digits.to_owned().into()));
    match number {
        f64::INFINITY => greatest("1.7976931348623157e+308"),
        f64::NEG_INFINITY => greatest("-1.7976931348623157e+308"),
        nan if nan.is_nan() => Val::Null,
        number => Val::Num(Num::Float(number)),
    }
}
