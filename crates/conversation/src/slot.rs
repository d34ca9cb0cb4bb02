//! The slot: the pair of tags with a nonce between which a model must write its answer.

use std::fmt;
use std::sync::LazyLock;

use data_encoding::HEXLOWER;
use regex::Regex;
use spillgate_llm::Stop;

/// A value that nobody can guess: 128 random bits, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// Returns the nonce of 16 bytes.
    #[must_use]
    pub fn of(bytes: [u8; 16]) -> Self {
        Self(HEXLOWER.encode(&bytes))
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A source of nonces.
pub trait Nonces: Send + Sync + fmt::Debug {
    /// Returns a nonce that was never returned before.
    fn fresh(&self) -> Nonce;
}

/// Nonces from the system's random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomNonces;

impl Nonces for RandomNonces {
    fn fresh(&self) -> Nonce {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("invariant: the system has random bytes");
        Nonce::of(bytes)
    }
}

/// The slot of one answer: a wrapper with a nonce (docs/spec/texts.md, "Wrapper").
///
/// The wrapper is read strictly, so that only a model that was told the nonce can write an answer.
///
/// - Text outside the wrapper is ignored, including a code fence around it. A wrapper with escaped
///   brackets (`&lt;`) is plain text.
/// - The tag must be complete and exact, with our nonce. Its attributes may stand in any order,
///   with either kind of quotes or none. A tag with a `format` other than the slot's (by default
///   `text`) names another slot and is ignored.
/// - Outside a wrapper, the content of `<think>` or `<thinking>` is ignored. Everything before a
///   closing tag without an opening one is ignored as well, because some templates put the opening
///   tag into the prompt. Thinking without a closing tag extends to the end of the reply.
/// - The closing tag may be missing if the model stopped by itself.
/// - An opening tag within a slot starts the answer again. If a reply has several answers that are
///   not blank, they must be the same text, so that half an answer is never taken for a whole one.
#[derive(Debug, Clone)]
pub struct Slot {
    nonce: Nonce,
    marks: Regex,
    format: &'static str,
}

/// Why a reply has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    /// The reply or its slot is empty, so the model has not answered.
    #[error("received empty content")]
    Empty,
    /// The wrapper is missing.
    #[error("failed to emit final report")]
    Missing,
    /// Two wrappers hold different answers.
    #[error("emitted two different final reports")]
    Ambiguous,
    /// The wrapper is not closed, and the model did not stop by itself.
    #[error("emitted a final report that was cut off")]
    CutOff,
}

impl Slot {
    /// Returns the slot with this nonce.
    #[must_use]
    pub fn new(nonce: Nonce) -> Self {
        let marks = marks(&nonce);
        Self {
            nonce,
            marks,
            format: "text",
        }
    }

    /// Returns the same slot for another format than `text`: `markdown`, `json`.
    #[must_use]
    pub fn of_format(self, format: &'static str) -> Self {
        Self { format, ..self }
    }

    /// Returns the slot's nonce.
    #[must_use]
    pub fn nonce(&self) -> &Nonce {
        &self.nonce
    }

    /// Returns the slot's opening tag.
    #[must_use]
    pub fn opening(&self) -> String {
        format!("<ai-agent-{}-FINAL format=\"{}\">", self.nonce, self.format)
    }

    /// Returns the slot's closing tag.
    #[must_use]
    pub fn closing(&self) -> String {
        format!("</ai-agent-{}-FINAL>", self.nonce)
    }

    /// Returns the answer in a reply that ended for the reason `stop`, without surrounding white
    /// space.
    pub fn answer(&self, reply: &str, stop: &Stop) -> Result<String, SlotError> {
        if reply.trim().is_empty() {
            return Err(SlotError::Empty);
        }
        let (mut answers, open) = self.wrapped(reply);
        if let Some(at) = open {
            if *stop != Stop::End {
                return Err(SlotError::CutOff);
            }
            answers.push(self.unclosed(reply, at));
        }
        if answers.is_empty() {
            return Err(SlotError::Missing);
        }
        let mut said = answers.into_iter().filter(|answer| !is_blank(answer));
        let answer = said.next().ok_or(SlotError::Empty)?;
        match said.all(|other| other == answer) {
            true => Ok(answer.to_owned()),
            false => Err(SlotError::Ambiguous),
        }
    }

    /// Returns the contents of all closed wrappers, and where an unclosed one begins.
    fn wrapped<'a>(&self, reply: &'a str) -> (Vec<&'a str>, Option<usize>) {
        let (mut answers, mut place) = (Vec::new(), Place::Outside);
        for mark in self.marks.captures_iter(reply) {
            let whole = mark.get_match();
            let is = |name| mark.name(name).is_some();
            if is("open") && !is_of(&mark["attributes"], self.format) {
                continue;
            }
            place = match place {
                Place::Inside(start) if is("open") || is("close") => {
                    let answer = reply[start..whole.start()].trim();
                    if !(is("open") && was_thinking(answer)) {
                        answers.push(answer);
                    }
                    match is("open") {
                        true => Place::Inside(whole.end()),
                        false => Place::Outside,
                    }
                }
                Place::Outside if is("open") => Place::Inside(whole.end()),
                Place::Outside if is("think") => Place::Thinking,
                Place::Outside if is("thought") => {
                    answers.clear();
                    Place::Outside
                }
                Place::Thinking if is("thought") => Place::Outside,
                same => same,
            };
        }
        match place {
            Place::Inside(start) => (answers, Some(start)),
            Place::Outside | Place::Thinking => (answers, None),
        }
    }

    /// Returns the content of a slot that begins at `start` and is not closed. Removes a closing
    /// tag that was cut off, and the end of a code fence that began before the slot.
    fn unclosed<'a>(&self, reply: &'a str, start: usize) -> &'a str {
        let (before, rest) = reply.split_at(start);
        let mut answer = rest.trim_end();
        if let Some(at) = answer.rfind("</")
            && self.closing().starts_with(&answer[at..])
        {
            answer = answer[..at].trim_end();
        }
        let tag = before.rfind('<').unwrap_or_default();
        let is_fenced = before[..tag]
            .trim_end()
            .rsplit('\n')
            .next()
            .is_some_and(|line| line.trim_start().starts_with("```"));
        if is_fenced {
            answer = answer.strip_suffix("```").unwrap_or(answer);
        }
        answer.trim()
    }
}

/// The words between the two tags in a notice that names both tags: "between … and …", "begins with
/// … and ends with …".
const NAMED: [&str; 2] = ["and", "and ends with"];

/// Returns whether a slot contains no answer, but only dots or the words that a notice has between
/// the two tags. A model that repeats such a notice has not answered.
fn is_blank(answer: &str) -> bool {
    answer.trim_matches(['.', '…']).is_empty() || NAMED.contains(&answer)
}

/// Returns the pattern of the tags that matter in a reply: the tags of the slot with `nonce`, and
/// the tags of thinking.
fn marks(nonce: &Nonce) -> Regex {
    let marks = format!(
        r#"(?x)
        (?<open> <ai-agent-{nonce}-FINAL
            (?<attributes>
                (?: \s+ [\w:.-]+ \s*=\s* (?: "[^"<>]*" | '[^'<>]*' | [^\s"'<>=/]+ ) )*
            ) \s* > )
        | (?<close> </ai-agent-{nonce}-FINAL \s* > )
        | (?<think> (?i: <think (?:ing)? > ) )
        | (?<thought> (?i: </think (?:ing)? > ) )"#
    );
    Regex::new(&marks).expect("invariant: a nonce is hex, the rest is ours")
}

/// The part of the reply in which a tag occurs.
enum Place {
    Outside,
    Thinking,
    /// The tag occurs in a slot whose content begins at this byte offset.
    Inside(usize),
}

/// Returns whether the text of a slot closes a block of thinking that began before the slot. The
/// slot's opening tag was then part of the thinking, not of the answer.
fn was_thinking(text: &str) -> bool {
    text.rfind("</think") > text.rfind("<think")
}

/// An attribute of a tag.
static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([\w:.-]+)\s*=\s*("[^"]*"|'[^']*'|\S+)"#).expect("invariant: it is ours")
});

/// Returns whether a tag with these attributes opens a slot of this format.
fn is_of(attributes: &str, format: &str) -> bool {
    ATTRIBUTE.captures_iter(attributes).all(|attribute| {
        let quotes = |c: char| "\"'“”".contains(c) || c.is_whitespace();
        &attribute[1] != "format" || attribute[2].trim_matches(quotes) == format
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A slot with a known nonce.
    fn slot() -> Slot {
        Slot::new(Nonce::of([1; 16]))
    }

    /// Returns the reply with the tags of `slot` in place of `{` and `}`, and its nonce in place of
    /// `~`.
    fn written(reply: &str) -> String {
        let slot = slot();
        reply
            .replace('~', &slot.nonce().to_string())
            .replace('{', &slot.opening())
            .replace('}', &slot.closing())
    }

    type Case = (&'static str, Result<&'static str, SlotError>);

    fn check(cases: &[Case], stop: &Stop) {
        for (reply, want) in cases {
            let want = want.clone().map(str::to_owned);
            assert_eq!(slot().answer(&written(reply), stop), want, "{reply:?}");
        }
    }

    #[test]
    fn answers_of_models_that_stopped() {
        use SlotError::{Ambiguous, Empty, Missing};
        let cases: [Case; 27] = [
            ("I shall answer in { ... }: {yes}", Ok("yes")),
            ("{…}", Err(Empty)),
            ("The answer begins with { and ends with }.", Err(Empty)),
            ("The report between { and }: {yes}", Ok("yes")),
            ("{yes and no}", Ok("yes and no")),
            ("{yes}", Ok("yes")),
            ("Here:\n{\n  two\nlines \n}\nDone.", Ok("two\nlines")),
            ("```xml\n{yes}\n```", Ok("yes")),
            ("```xml\n{\nyes\n```", Ok("yes")),
            ("{```\ncode\n```", Ok("```\ncode\n```")),
            ("{yes", Ok("yes")),
            ("{yes</ai-agent-~-FIN", Ok("yes")),
            ("{a </b", Ok("a </b")),
            ("{yes} {yes}", Ok("yes")),
            ("{yes{", Ok("yes")),
            ("{\n{yes}\n}", Ok("yes")),
            ("{yes} {}", Ok("yes")),
            ("{yes} {no}", Err(Ambiguous)),
            ("{one {two}", Err(Ambiguous)),
            ("{one} {two", Err(Ambiguous)),
            ("} {yes}", Ok("yes")),
            ("", Err(Empty)),
            (" \n", Err(Empty)),
            ("{ \n }", Err(Empty)),
            ("{", Err(Empty)),
            ("yes", Err(Missing)),
            ("yes}", Err(Missing)),
        ];
        check(&cases, &Stop::End);
    }

    #[test]
    fn tags_must_be_exact() {
        use SlotError::Missing;
        let cases: [Case; 16] = [
            ("<ai-agent-~-FINAL>yes}", Ok("yes")),
            ("<ai-agent-~-FINAL format='text' >yes}", Ok("yes")),
            ("<ai-agent-~-FINAL format = text>yes}", Ok("yes")),
            ("<ai-agent-~-FINAL format=“text”>yes}", Ok("yes")),
            (
                "<ai-agent-~-FINAL\n a=\"b\" format=\"text\">yes}",
                Ok("yes"),
            ),
            ("{yes</ai-agent-~-FINAL >", Ok("yes")),
            ("<ai-agent-~-FINAL format=\"json\">yes}", Err(Missing)),
            ("<ai-agent-~-FINAL format=''>yes}", Err(Missing)),
            ("<ai-agent-~-FINALxyz>yes}", Err(Missing)),
            ("<ai-agent-~-FINAL-2 format=\"text\">yes}", Err(Missing)),
            ("<ai-agent-~-FINAL format=\"text\"/>yes}", Err(Missing)),
            ("<ai-agent-~-final format=\"text\">yes}", Err(Missing)),
            ("<ai-agent-~0-FINAL format=\"text\">yes}", Err(Missing)),
            ("<ai-agent-01-FINAL format=\"text\">yes}", Err(Missing)),
            ("<ai-agent-<NONCE>-FINAL format=\"text\">yes", Err(Missing)),
            ("&lt;ai-agent-~-FINAL format=\"text\"&gt;yes", Err(Missing)),
        ];
        check(&cases, &Stop::End);
    }

    #[test]
    fn thinking_is_no_answer() {
        use SlotError::Missing;
        let cases: [Case; 11] = [
            ("<think>{no}</think>{yes}", Ok("yes")),
            (
                " <think>a</think>\n<THINKING>{no</THINKING> {yes}",
                Ok("yes"),
            ),
            ("<think>a<think>{no}</think>b</think>{yes}", Ok("yes")),
            ("a {no} b</think>{yes}", Ok("yes")),
            ("I write {...</think>{yes}", Ok("yes")),
            ("{<think> is a tag}", Ok("<think> is a tag")),
            ("{yes}<think>{no}", Ok("yes")),
            ("<think>{no}", Err(Missing)),
            ("<thinking>{no</thinking>", Err(Missing)),
            ("{no}</think>", Err(Missing)),
            ("so <think>{no} {no}", Err(Missing)),
        ];
        check(&cases, &Stop::End);
    }

    #[test]
    fn only_a_model_that_stopped_by_itself_may_leave_the_slot_open() {
        for stop in [Stop::Length, Stop::Refused, Stop::Other("x".into())] {
            let cases = [
                ("{yes", Err(SlotError::CutOff)),
                ("{yes} {ye", Err(SlotError::CutOff)),
                ("{yes</ai-agent-~-FINAL", Err(SlotError::CutOff)),
                ("{yes} and", Ok("yes")),
                ("and", Err(SlotError::Missing)),
            ];
            check(&cases, &stop);
        }
    }

    /// Generates text that contains no tag of the slot.
    fn prose() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "\\PC{0,20}",
            "[<>/\n`\"=]{0,9}",
            Just("<ai-agent-0202-FINAL format=\"text\">".to_owned()),
            Just("</ai-agent-".to_owned()),
        ];
        let text = proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
        text.prop_filter("marks", |text| !text.to_lowercase().contains("think"))
    }

    proptest! {
        #[test]
        fn what_stands_in_the_slot_comes_out(before in prose(), inside in prose(), after in prose()) {
            let slot = slot();
            let reply = format!("{before}{}{inside}{}{after}", slot.opening(), slot.closing());
            let want = match inside.trim() {
                text if is_blank(text) => Err(SlotError::Empty),
                text => Ok(text.to_owned()),
            };
            prop_assert_eq!(slot.answer(&reply, &Stop::Length), want);
        }

        #[test]
        fn who_does_not_know_the_nonce_cannot_answer(text in prose(), nonce: [u8; 16], stop in prop_oneof![Just(Stop::End), Just(Stop::Length)]) {
            let other = Slot::new(Nonce::of(nonce));
            let forged = format!("{text}{}{text}{}{text}", other.opening(), other.closing());
            prop_assert!(slot().answer(&forged, &stop).is_err());
        }
    }
}
