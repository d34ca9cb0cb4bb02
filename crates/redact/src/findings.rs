//! What was found in a text: sorted ranges that do not overlap.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The most findings of a text. A text with more is withheld as a whole.
pub const MOST_FINDINGS: usize = 1_000_000;
/// The first bytes of stored findings.
const MAGIC: &[u8; 4] = b"SGR1";

/// A secret in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretSpan {
    /// The offset of its first byte.
    pub start: u64,
    /// The offset after its last byte.
    pub end: u64,
    /// The index of its rule in [`Findings::rules`].
    pub rule: u16,
    /// Tells the secrets of a rule apart, from 1 on: equal secrets have the same number. 0 if the
    /// text has too many secrets to tell them apart.
    pub number: u32,
}

/// The secrets of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    spans: Vec<SecretSpan>,
    rules: Vec<Arc<str>>,
    too_many: bool,
}

/// The error for bytes that are not stored findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored findings are damaged at byte {at}")]
pub struct FindingsError {
    /// The offset at which the bytes are not as expected.
    pub at: usize,
}

impl Findings {
    /// Returns the findings of a text with more than [`MOST_FINDINGS`] of them.
    pub(crate) fn too_many_of() -> Self {
        Self {
            too_many: true,
            ..Self::default()
        }
    }

    /// Joins spans that overlap, and numbers the secrets. `ids` are the ids of the rules that the
    /// spans name; `secret` returns the bytes of a span.
    pub(crate) fn new(
        mut found: Vec<(u64, u64, u16)>,
        ids: &[&str],
        mut secret: impl FnMut(u64, u64) -> std::io::Result<Vec<u8>>,
    ) -> std::io::Result<Self> {
        found.sort_unstable();
        let mut joined: Vec<(u64, u64, u16)> = Vec::with_capacity(found.len());
        for (start, end, rule) in found {
            match joined.last_mut() {
                // The rules at the top of the file are the more precise ones.
                Some(last) if start < last.1 => {
                    last.1 = last.1.max(end);
                    last.2 = last.2.min(rule);
                }
                _ => joined.push((start, end, rule)),
            }
        }
        if joined.len() > MOST_FINDINGS {
            return Ok(Self::too_many_of());
        }
        let mut findings = Self::default();
        let mut indices: BTreeMap<u16, u16> = BTreeMap::new();
        let mut numbers = Numbers::default();
        for (start, end, rule) in joined {
            let index = *indices.entry(rule).or_insert_with(|| {
                findings.rules.push(Arc::from(ids[usize::from(rule)]));
                u16::try_from(findings.rules.len() - 1).unwrap_or(u16::MAX)
            });
            let number = numbers.of(ids[usize::from(rule)], &secret(start, end)?);
            findings.spans.push(SecretSpan {
                start,
                end,
                rule: index,
                number,
            });
        }
        Ok(findings)
    }

    /// Returns the secrets in the order in which they stand in the text.
    #[must_use]
    pub fn spans(&self) -> &[SecretSpan] {
        &self.spans
    }

    /// Returns the ids of the rules that found something, in the order of their first finding.
    #[must_use]
    pub fn rules(&self) -> &[Arc<str>] {
        &self.rules
    }

    /// Returns the id of the rule that found a secret.
    #[must_use]
    pub fn rule(&self, span: &SecretSpan) -> &str {
        self.rules
            .get(usize::from(span.rule))
            .map_or("secret", |it| it)
    }

    /// Returns whether the text has more than [`MOST_FINDINGS`] secrets. There are no spans then,
    /// and the text must be withheld.
    #[must_use]
    pub fn is_too_many(&self) -> bool {
        self.too_many
    }

    /// Returns whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && !self.too_many
    }

    /// Returns the number of spans for each rule, sorted by rule.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for span in &self.spans {
            *counts.entry(self.rule(span)).or_default() += 1;
        }
        counts
    }

    /// Returns the findings as bytes for a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(u8::from(self.too_many));
        put(&mut bytes, self.rules.len() as u64);
        for rule in &self.rules {
            put(&mut bytes, rule.len() as u64);
            bytes.extend_from_slice(rule.as_bytes());
        }
        put(&mut bytes, self.spans.len() as u64);
        let mut end = 0;
        for span in &self.spans {
            put(&mut bytes, span.start - end);
            put(&mut bytes, span.end - span.start);
            put(&mut bytes, u64::from(span.rule));
            put(&mut bytes, u64::from(span.number));
            end = span.end;
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) returned.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FindingsError> {
        let mut reader = Reader { bytes, at: 0 };
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(FindingsError { at: 0 });
        }
        let too_many = match reader.take(1)? {
            [0] => false,
            [1] => true,
            _ => return Err(reader.error()),
        };
        let rules = reader.bounded(u64::from(u16::MAX))?;
        let mut findings = Self {
            too_many,
            ..Self::default()
        };
        for _ in 0..rules {
            let length = reader.bounded(crate::rules::MOST_ID as u64)?;
            let id = reader.take(usize::try_from(length).unwrap_or(usize::MAX))?;
            let valid = |it: &u8| it.is_ascii_lowercase() || it.is_ascii_digit() || *it == b'-';
            let id = std::str::from_utf8(id).ok().filter(|it| !it.is_empty());
            let id = id.filter(|id| id.as_bytes().iter().all(valid));
            findings.rules.push(Arc::from(id.ok_or(reader.error())?));
        }
        let spans = reader.bounded(if too_many { 0 } else { MOST_FINDINGS as u64 })?;
        let mut last: u64 = 0;
        for _ in 0..spans {
            let start = last.checked_add(reader.number()?).ok_or(reader.error())?;
            let length = reader.number()?;
            let end = start.checked_add(length).filter(|_| length > 0);
            let end = end.ok_or(reader.error())?;
            let rule = reader.bounded(rules.saturating_sub(1))?;
            let number = reader.bounded(MOST_FINDINGS as u64)?;
            if rules == 0 {
                return Err(reader.error());
            }
            findings.spans.push(SecretSpan {
                start,
                end,
                rule: u16::try_from(rule).unwrap_or(u16::MAX),
                number: u32::try_from(number).unwrap_or(0),
            });
            last = end;
        }
        match reader.at == bytes.len() {
            true => Ok(findings),
            false => Err(reader.error()),
        }
    }
}

/// Writes a number in groups of seven bits.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn error(&self) -> FindingsError {
        FindingsError { at: self.at }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], FindingsError> {
        let end = self.at.checked_add(length).ok_or(self.error())?;
        let taken = self.bytes.get(self.at..end).ok_or(self.error())?;
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, FindingsError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.error())
    }

    fn bounded(&mut self, most: u64) -> Result<u64, FindingsError> {
        let number = self.number()?;
        match number <= most {
            true => Ok(number),
            false => Err(self.error()),
        }
    }
}

/// Numbers secrets. Keeps a keyed hash of each secret, never the secret.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    key: RandomState,
    known: HashMap<u64, u32>,
    /// How many secrets each rule has.
    counts: HashMap<Arc<str>, u32>,
}

/// The most secrets that are told apart.
const MOST_NUMBERS: usize = 65_536;

impl Numbers {
    /// Returns the number of a secret: 1 for the first secret of a rule. Returns 0 if there are
    /// too many secrets to tell them apart.
    pub(crate) fn of(&mut self, rule: &str, secret: &[u8]) -> u32 {
        let hash = self.key.hash_one((rule, secret));
        if let Some(number) = self.known.get(&hash) {
            return *number;
        }
        if self.known.len() >= MOST_NUMBERS {
            return 0;
        }
        let count = match self.counts.get_mut(rule) {
            Some(count) => count,
            None => self.counts.entry(rule.into()).or_default(),
        };
        *count += 1;
        self.known.insert(hash, *count);
        *count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn findings(spans: Vec<(u64, u64, u16)>) -> Findings {
        Findings::new(spans, &["a", "b-1", "c"], |start, _| {
            Ok(vec![(start % 3) as u8])
        })
        .unwrap()
    }

    #[test]
    fn spans_that_overlap_are_joined() {
        let found = findings(vec![
            (8, 12, 2),
            (0, 4, 1),
            (4, 6, 1),
            (2, 4, 2),
            (11, 20, 1),
        ]);
        let spans: Vec<_> = found
            .spans()
            .iter()
            .map(|it| (it.start, it.end, found.rule(it), it.number))
            .collect();
        assert_eq!(
            spans,
            [(0, 4, "b-1", 1), (4, 6, "b-1", 2), (8, 20, "b-1", 3)]
        );
        assert_eq!(found.counts(), BTreeMap::from([("b-1", 3)]));
    }

    proptest! {
        #[test]
        fn bytes_round_trip(spans in prop::collection::vec((0..1000_u64, 1..50_u64, 0..3_u16), 0..40)) {
            let spans = spans.into_iter().map(|(start, len, rule)| (start, start + len, rule)).collect();
            let found = findings(spans);
            prop_assert_eq!(Findings::from_bytes(&found.to_bytes()), Ok(found));
        }

        #[test]
        fn damaged_bytes_are_refused_or_give_valid_spans(
            spans in prop::collection::vec((0..1000_u64, 1..50_u64, 0..3_u16), 0..9),
            at in 0..200_usize,
            byte: u8,
            cut in 0..200_usize,
        ) {
            let spans = spans.into_iter().map(|(start, len, rule)| (start, start + len, rule)).collect();
            let mut bytes = findings(spans).to_bytes();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(length - cut % (length / 4 + 1));
            if let Ok(found) = Findings::from_bytes(&bytes) {
                let mut end = 0;
                for span in found.spans() {
                    prop_assert!(span.start >= end && span.end > span.start);
                    prop_assert!(usize::from(span.rule) < found.rules().len());
                    end = span.end;
                }
            }
        }
    }
}
