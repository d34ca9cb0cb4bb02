//! A value of a record and its readings: as texts, a number, a moment or a version.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Number;

use super::moment::moment;
use super::quantity::quantity;
use super::value::Json;
use super::version::Version;

/// Most items of a list that are looked at.
const MOST_ITEMS: usize = 400;

/// A value of a record, borrowed from the document.
#[derive(Debug, Clone)]
pub(super) enum Cell<'d> {
    Text(&'d str),
    Number(&'d Number),
    /// A number in a cell of a table, with its text.
    Figure(f64, &'d str),
    Bool(bool),
    List(&'d [Json<'d>]),
    /// A text that lists some of a few words: `200,404`.
    Joined(&'d str),
    /// An object: its keys are its texts.
    Members(&'d [(Cow<'d, str>, Json<'d>)]),
}

/// What a value is sorted by.
#[derive(Debug)]
pub(super) enum Rank<'d> {
    Text(Cow<'d, str>),
    Number(f64),
    Version(Version<'d>),
    Moment(i64),
}

impl Rank<'_> {
    /// The place of its kind.
    fn kind(&self) -> u8 {
        match self {
            Self::Text(_) => 0,
            Self::Number(_) => 1,
            Self::Version(_) => 2,
            Self::Moment(_) => 3,
        }
    }
}

impl Ord for Rank<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Version(one), Self::Version(other)) => one.cmp(other),
            (Self::Moment(one), Self::Moment(other)) => one.cmp(other),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl PartialOrd for Rank<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank<'_> {}

impl<'d> Cell<'d> {
    /// Returns a JSON value as a cell; `None` for `null`.
    pub(super) fn of_json(value: &'d Json<'d>) -> Option<Self> {
        Some(match value {
            Json::Null => return None,
            Json::Bool(is) => Self::Bool(*is),
            Json::Number(number) => Self::Number(number),
            Json::Text(text) => Self::Text(text),
            Json::List(items) => Self::List(items),
            Json::Members(members) => Self::Members(members),
        })
    }

    /// Returns the text of a table's cell; `None` if it is empty.
    pub(super) fn of_text(text: &'d str) -> Option<Self> {
        let text = text.trim();
        let starts_so = |c: char| c.is_ascii_digit() || "-+.".contains(c);
        let number = match text.starts_with(starts_so) {
            true => text.parse::<f64>().ok().filter(|number| number.is_finite()),
            false => None,
        };
        match number {
            _ if text.is_empty() => None,
            Some(number) => Some(Self::Figure(number, text)),
            None => Some(Self::Text(text)),
        }
    }

    /// Returns it as the JSON that a filter reads; `None` for what has several values.
    pub(super) fn to_json(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(serde_json::Value::from(*text).to_string()),
            Self::Number(number) => Some(number.to_string()),
            // A cell of a table is a number if it is one in JSON.
            Self::Figure(_, text) => match serde_json::from_str::<Number>(text) {
                Ok(_) => Some((*text).to_owned()),
                Err(_) => Some(serde_json::Value::from(*text).to_string()),
            },
            Self::Bool(is) => Some(is.to_string()),
            Self::List(_) | Self::Joined(_) | Self::Members(_) => None,
        }
    }

    /// Returns whether it has no content: a blank text or an empty list.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Members(members) => members.is_empty(),
            Self::Number(_) | Self::Figure(..) | Self::Bool(_) | Self::Joined(_) => false,
        }
    }

    /// Returns whether it has several values.
    pub(super) fn is_list(&self) -> bool {
        matches!(self, Self::List(_) | Self::Joined(_) | Self::Members(_))
    }

    /// Returns whether it is a number, rather than a text that reads as one.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Figure(..))
    }

    /// Returns the number to compare: for a list, how many items it has.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            Self::Figure(number, _) => Some(*number),
            Self::List(items) => Some(items.len() as f64),
            Self::Joined(text) => Some(joined(text).count() as f64),
            Self::Members(members) => Some(members.len() as f64),
            Self::Text(text) => number_of(text),
            Self::Bool(_) => None,
        }
    }

    /// Returns the second since 1970 that it names.
    pub(super) fn moment(&self) -> Option<i64> {
        match self {
            Self::Text(text) => moment(text),
            Self::Figure(number, text) => of_epoch(*number).or_else(|| moment(text)),
            Self::Number(number) => number.as_f64().and_then(of_epoch),
            Self::Bool(_) | Self::List(_) | Self::Joined(_) | Self::Members(_) => None,
        }
    }

    /// Returns the version that it is.
    pub(super) fn version(&self) -> Option<Version<'d>> {
        match self {
            Self::Text(text) | Self::Figure(_, text) => Version::new(text),
            _ => None,
        }
    }

    /// Returns whether one of its texts is such. A list has the texts of its first items.
    pub(super) fn any(&self, mut is: impl FnMut(&str) -> bool) -> bool {
        match self {
            Self::Text(text) | Self::Figure(_, text) => is(text),
            Self::Number(number) => is(&number.to_string()),
            Self::Bool(value) => is(if *value { "true" } else { "false" }),
            Self::List(items) => items.iter().take(MOST_ITEMS).any(|one| is(&item(one))),
            Self::Joined(text) => joined(text).any(is),
            Self::Members(members) => members.iter().take(MOST_ITEMS).any(|(key, _)| is(key)),
        }
    }

    /// Returns the text to show, on one line.
    pub(super) fn shown(&self) -> Cow<'d, str> {
        match self {
            Self::Text(text) | Self::Figure(_, text) => match text.contains(['\n', '\r', '\t']) {
                true => Cow::Owned(text.replace(['\n', '\r', '\t'], " ")),
                false => Cow::Borrowed(text),
            },
            Self::Joined(text) => Cow::Borrowed(text),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Bool(is) => Cow::Borrowed(if *is { "true" } else { "false" }),
            Self::List(_) | Self::Members(_) => {
                let count = self.number().unwrap_or(0.0);
                Cow::Owned(format!("{count} items"))
            }
        }
    }

    /// Returns the items of a list on one line, if all have a text; otherwise what `shown` returns.
    pub(super) fn listed(&self) -> Cow<'d, str> {
        let mut texts: Vec<Cow<'_, str>> = Vec::new();
        match self {
            Self::List(items) if items.len() <= MOST_ITEMS => texts.extend(items.iter().map(item)),
            Self::Members(members) if members.len() <= MOST_ITEMS => {
                texts.extend(members.iter().map(|(key, _)| Cow::Borrowed(&**key)));
            }
            _ => return self.shown(),
        }
        match texts.iter().any(|text| text.is_empty()) {
            true => self.shown(),
            false => Cow::Owned(texts.join(", ")),
        }
    }

    /// Returns an object, or a list of objects, with all that is in it; `None` if that has more than
    /// `most` bytes.
    pub(super) fn whole(&self, most: usize) -> Option<String> {
        let mut text = String::new();
        let is_whole = match self {
            Self::Members(members) => write_members(members, &mut text, most),
            Self::List(items) if items.iter().any(Json::is_object) => {
                write_items(items, &mut text, most)
            }
            _ => false,
        };
        is_whole.then_some(text)
    }

    /// Returns what it is sorted by. A version may have a name behind it: `24.04 LTS`.
    pub(super) fn rank(&self) -> Rank<'d> {
        let of_text = match self {
            Self::Text(text) => moment(text).map(Rank::Moment).or_else(|| {
                let first = text.split(' ').next().unwrap_or_default();
                let named = || {
                    self.number()
                        .is_none()
                        .then(|| Version::new(first))
                        .flatten()
                };
                let version = self.version().or_else(named);
                version.map(Rank::Version)
            }),
            _ => None,
        };
        of_text
            .or_else(|| self.number().map(Rank::Number))
            .unwrap_or_else(|| Rank::Text(self.shown()))
    }

    /// Compares two values of a column: as numbers, versions, moments or texts. Values of different
    /// kinds have the order of these kinds, because a sort needs an order of all of them.
    pub(super) fn compared(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// Returns the words of a text that lists them.
pub(super) fn joined(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
}

/// Writes a value behind a text; returns whether the text then has at most `most` bytes.
fn write(value: &Json<'_>, text: &mut String, most: usize) -> bool {
    match value {
        Json::List(items) => return write_items(items, text, most),
        Json::Members(members) => return write_members(members, text, most),
        Json::Null => text.push_str("null"),
        Json::Bool(is) => text.push_str(if *is { "true" } else { "false" }),
        Json::Number(number) => text.push_str(&number.to_string()),
        Json::Text(value) => text.push_str(value),
    }
    text.len() <= most
}

fn write_items(items: &[Json<'_>], text: &mut String, most: usize) -> bool {
    text.push('[');
    let is_whole = items.iter().enumerate().all(|(at, item)| {
        text.push_str(if at > 0 { ", " } else { "" });
        write(item, text, most)
    });
    text.push(']');
    is_whole && text.len() <= most
}

fn write_members(members: &[(Cow<'_, str>, Json<'_>)], text: &mut String, most: usize) -> bool {
    text.push('{');
    let is_whole = members.iter().enumerate().all(|(at, (key, value))| {
        text.push_str(if at > 0 { ", " } else { "" });
        text.push_str(key);
        text.push_str(": ");
        write(value, text, most)
    });
    text.push('}');
    is_whole && text.len() <= most
}

/// Returns the text of a list's item: itself, or the name of an object; empty if it has none.
pub(super) fn item<'d>(value: &'d Json<'d>) -> Cow<'d, str> {
    const NAMES: [&str; 4] = ["name", "id", "key", "title"];
    match value {
        Json::Text(text) => Cow::Borrowed(text),
        Json::Number(number) => Cow::Owned(number.to_string()),
        Json::Members(members) => {
            let named = |name: &&str| {
                let member = members.iter().find(|(key, _)| key == name);
                match member {
                    Some((_, Json::Text(text))) => Some(&**text),
                    _ => None,
                }
            };
            match (NAMES.iter().find_map(named), &members[..]) {
                (Some(name), _) => Cow::Borrowed(name),
                // `{"expression": "MIT"}` has nothing else.
                (None, [(_, only)]) => item(only),
                (None, _) => Cow::Borrowed(""),
            }
        }
        Json::Null | Json::Bool(_) | Json::List(_) => Cow::Borrowed(""),
    }
}

/// Returns the number that a text is, also with a currency, a percent sign, commas or a unit:
/// `$1,200.50`, `12 MB`.
fn number_of(text: &str) -> Option<f64> {
    const LONGEST: usize = 32;
    let text = text.trim();
    if text.len() > LONGEST || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Some(number) = quantity(text) {
        return Some(number);
    }
    let text = text
        .trim_start_matches(['$', '€', '£'])
        .trim_end_matches('%')
        .trim();
    let number = match text.contains(',') {
        true => text.replace(',', "").parse::<f64>(),
        false => text.parse::<f64>(),
    };
    number.ok().filter(|number| number.is_finite())
}

/// Returns the second of a Unix time in seconds or milliseconds, if the number can be one after
/// 1990.
fn of_epoch(number: f64) -> Option<i64> {
    const LEAST: f64 = 631_152_000.0;
    const MOST: f64 = 4_102_444_800.0;
    let seconds = match number {
        number if (LEAST..MOST).contains(&number) => number,
        number if (LEAST..MOST).contains(&(number / 1000.0)) => number / 1000.0,
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range is checked above"
    )]
    Some(seconds.floor() as i64)
}
