//! The marks that a session shows in place of secrets.

use std::borrow::Cow;
use std::fmt::Write;

use parking_lot::Mutex;

use crate::find::find_in_short;
use crate::findings::Numbers;
use crate::rules::Rules;

/// What is shown in place of a short text that cannot be searched or has too many secrets.
pub const WITHHELD: &str = "[withheld: too many secrets]";

/// The marks of one session. The same secret always gets the same mark; two secrets of a rule get
/// different ones, as long as there are at most 65,536 secrets.
///
/// Keeps hashes of the secrets under a random key, not the secrets.
#[derive(Debug, Default)]
pub struct Marks(Mutex<Numbers>);

impl Marks {
    /// Returns the marks of a new session.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the mark of a secret: `[redacted: RULE]` for the first secret of a rule,
    /// `[redacted: RULE 2]` for the second. Without a number of its own, a secret gets the mark of
    /// the first one.
    #[must_use]
    pub fn mark(&self, rule: &str, secret: &[u8]) -> String {
        let number = self.0.lock().of(rule, secret);
        mark(rule, number)
    }
}

/// Returns the mark of a secret that cannot be told apart from others.
pub(crate) fn mark(rule: &str, number: u32) -> String {
    let mut mark = format!("[redacted: {rule}");
    if number > 1 {
        // Writing to a string does not fail.
        let _ = write!(mark, " {number}");
    }
    mark.push(']');
    mark
}

/// Shows marks in place of the secrets of a short text.
#[must_use]
pub fn redact_str<'a>(rules: &Rules, marks: &Marks, text: &'a str) -> Cow<'a, str> {
    let findings = match find_in_short(rules, text.as_bytes()) {
        Ok(Some(findings)) => findings,
        Ok(None) => return Cow::Borrowed(text),
        Err(_) => return Cow::Borrowed(WITHHELD),
    };
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for span in findings.spans() {
        let range = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
        let (start, end) = (range(span.start), range(span.end));
        let (Some(before), Some(secret)) = (text.get(at..start), text.get(start..end)) else {
            return Cow::Borrowed(WITHHELD);
        };
        shown.push_str(before);
        shown.push_str(&marks.mark(findings.rule(span), secret.as_bytes()));
        at = end;
    }
    if findings.is_too_many() {
        return Cow::Borrowed(WITHHELD);
    }
    shown.push_str(&text[at..]);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_secrets_have_equal_marks() {
        let marks = Marks::new();
        let rules = Rules::builtin();
        let text = "a AKIAQ3EGXZ7LKTPNWB5M b AKIAQ3EGXZ7LKTPNWB5N c AKIAQ3EGXZ7LKTPNWB5M";
        let want = "a [redacted: aws-access-key] b [redacted: aws-access-key 2] c [redacted: aws-access-key]";
        assert_eq!(redact_str(&rules, &marks, text), want);
        assert_eq!(redact_str(&rules, &marks, want), want);
        assert_eq!(
            redact_str(&rules, &marks, "AKIAQ3EGXZ7LKTPNWB5N"),
            "[redacted: aws-access-key 2]"
        );
        assert!(matches!(
            redact_str(&rules, &marks, "nothing"),
            Cow::Borrowed("nothing")
        ));
    }

    #[test]
    fn many_secrets_need_bounded_memory() {
        let marks = Marks::new();
        for index in 0..70_000_u32 {
            let mark = marks.mark("a", &index.to_be_bytes());
            let number = (1..65_536)
                .contains(&index)
                .then(|| format!(" {}", index + 1));
            assert_eq!(mark, format!("[redacted: a{}]", number.unwrap_or_default()));
        }
    }
}
