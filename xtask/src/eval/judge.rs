//! Decides what a page or a preview shows of the strings that a case wants.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// A wanted string and the other forms that count as well.
pub(crate) type Wanted = Vec<String>;

/// How strings are compared with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    /// As lines of a log: several blanks are one blank.
    Line,
    /// As parts of an answer: without blanks, in any case, and also with decoded `\u` escapes.
    /// Figures must stand alone.
    Answer,
}

/// What counts about the wanted strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Whether all are shown.
    All,
    /// Whether at least one is shown.
    Any,
    /// The share that is shown.
    Share,
}

/// A text that a model sees, prepared for comparison.
#[derive(Debug)]
pub(crate) struct Page {
    /// Without line numbers, time stamps of CI runners and colours, and with single blanks.
    plain: String,
    /// Without blanks and in lower case: the text, and the text with decoded escapes.
    squeezed: [String; 2],
}

impl Page {
    pub(crate) fn new(text: &str) -> Self {
        let text = without_noise(text);
        Self {
            plain: single_blanks(&text),
            squeezed: [squeezed(&text), squeezed(&unescaped(&text))],
        }
    }

    /// Returns whether the page shows the wanted string in one of its forms.
    pub(crate) fn shows(&self, wanted: &Wanted, compare: Compare) -> bool {
        wanted.iter().any(|form| match compare {
            Compare::Line => self.plain.contains(&single_blanks(&without_noise(form))),
            Compare::Answer if is_figure(form) => {
                let mut figures = self
                    .plain
                    .split(|c: char| !(c.is_ascii_digit() || c == '.'));
                figures.any(|figure| figure.trim_matches('.') == form)
            }
            Compare::Answer => {
                let form = squeezed(form);
                self.squeezed.iter().any(|text| text.contains(&form))
            }
        })
    }

    /// Returns the score of the page, from 0 to 1.
    pub(crate) fn score(&self, wanted: &[Wanted], compare: Compare, measure: Measure) -> f64 {
        let shown = wanted.iter().filter(|one| self.shows(one, compare)).count();
        match measure {
            Measure::All => f64::from(u8::from(shown == wanted.len())),
            Measure::Any => f64::from(u8::from(shown > 0)),
            Measure::Share => shown as f64 / wanted.len().max(1) as f64,
        }
    }
}

/// Returns whether the JSON of a search for an identifier reports that the text does not have it:
/// the page says so, or it is empty.
pub(crate) fn reports_absence(page: &Value) -> bool {
    let is_empty = |key: &str| page[key].as_array().is_none_or(Vec::is_empty);
    !is_empty("absent") || (is_empty("passages") && page["table"].is_null())
}

fn is_figure(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn without_noise(text: &str) -> String {
    static NOISE: LazyLock<Regex> = LazyLock::new(|| {
        let patterns = [
            // Colours, raw and as Spillgate marks them.
            r"\x1b\[[0-9;?]*[ -/]*[@-~]",
            r"\^\[\[[\d;]*m",
            // The number of a line.
            r"(?m:^ *\d+: ?)",
            // The time stamp of a CI runner. GitHub's has seven digits of a second, and the names
            // of the job and the step may precede it.
            r"(?m:^\d{4}-\d\d-\d\dT[\d:.]+Z ?)",
            r"(?m:^.{0,150}?\d{4}-\d\d-\d\dT[\d:]+\.\d{7}Z ?)",
        ];
        Regex::new(&patterns.join("|")).expect("invariant: the pattern compiles")
    });
    NOISE.replace_all(text, "").into_owned()
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<String>().to_lowercase()
}

/// Decodes the `\uXXXX` escapes of a text, except surrogates.
fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..4);
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        if let Some(char) = code.and_then(char::from_u32) {
            decoded.push(char);
            decoded.push_str(&part[4..]);
        } else {
            decoded.push_str("\\u");
            decoded.push_str(part);
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_shows_what_is_wanted() {
        let cases = [
            // (page, wanted, as a line, as a part of an answer)
            ("12:error: no such file", "error: no such file", true, true),
            ("   7: a   b\tc", "a b c", true, true),
            (
                "3:2026-11-25T10:00:00.1Z FAILED x",
                "3:FAILED  x",
                true,
                false,
            ),
            (
                "3:FAILED x",
                "job\tstep 2026-11-25T10:00:00.1234567Z FAILED x",
                true,
                false,
            ),
            ("\u{1b}[31mFAILED\u{1b}[0m x", "FAILED x", true, true),
            ("9:^[[31mFAILED^[[0m x", "FAILED x", true, true),
            ("error: no such dir", "error: no such file", false, false),
            ("failed x", "FAILED x", false, true),
            (r#"{"a": "b"}"#, r#"{"a":"b"}"#, false, true),
            (r"caf\u00e9 noir", "Café noir", false, true),
            // Surrogates and broken escapes stay as they are.
            (r"\ud83d \u12 \u", r"\ud83d \u12 \u", true, true),
            // A figure is no part of another figure and no line number.
            ("1:version 37.", "37", true, true),
            ("1:version 137", "37", true, false),
            ("1:version 3.37", "37", true, false),
            ("37:version 5", "37", false, false),
            ("37:version 5\n38-version 6", "38", true, true),
        ];
        for (page, wanted, as_line, as_answer) in cases {
            let (shown, wanted) = (Page::new(page), vec![wanted.to_owned()]);
            let found =
                [Compare::Line, Compare::Answer].map(|compare| shown.shows(&wanted, compare));
            assert_eq!(found, [as_line, as_answer], "{wanted:?} on {page:?}");
        }
    }

    #[test]
    fn a_score_counts_wanted_strings_in_any_of_their_forms() {
        let page = Page::new("1:one\n2:two");
        let wanted = |all: &[&[&str]]| -> Vec<Wanted> {
            let forms = |one: &&[&str]| one.iter().map(|form| (*form).to_owned()).collect();
            all.iter().map(forms).collect()
        };
        let cases = [
            (wanted(&[&["one"], &["two"]]), [1.0, 1.0, 1.0]),
            (wanted(&[&["three", "two"], &["four"]]), [0.0, 1.0, 0.5]),
            (wanted(&[&["three"], &["four"]]), [0.0, 0.0, 0.0]),
        ];
        for (wanted, expected) in cases {
            let measures = [Measure::All, Measure::Any, Measure::Share];
            for (measure, expected) in measures.into_iter().zip(expected) {
                let score = page.score(&wanted, Compare::Line, measure);
                assert!(
                    (score - expected).abs() < 1e-9,
                    "{measure:?} of {wanted:?} is {score}"
                );
            }
        }
    }

    #[test]
    fn an_identifier_is_absent_if_the_page_says_so_or_is_empty() {
        let cases = [
            (json!({"passages": [], "absent": ["x"], "tokens": 9}), true),
            (json!({"passages": [{"text": "y"}], "absent": ["x"]}), true),
            (json!({"passages": [], "absent": []}), true),
            (
                json!({"passages": [], "absent": [], "table": "1 of 9"}),
                false,
            ),
            (json!({"passages": [{"text": "x"}], "absent": []}), false),
        ];
        for (page, expected) in cases {
            assert_eq!(reports_absence(&page), expected, "{page}");
        }
    }
}
