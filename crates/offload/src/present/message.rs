//! A message in parts, and its rendering to a text within bounds.

use serde_json::json;
use spillgate_artifact::TokenBudget;
use spillgate_redact::Redactor;
use spillgate_text::TokenCounter;

/// The maximum size of a message where it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Tokens of the text.
    pub tokens: TokenBudget,
    /// Bytes of the text as a JSON string, quotes included.
    pub json_bytes: u64,
}

impl Bounds {
    /// Returns bounds that no text exceeds, for a text whose format limits another unit, such as
    /// characters.
    pub(crate) fn of_format() -> Self {
        Self::tokens(TokenBudget::new(u64::MAX))
    }

    /// Bounds the tokens only.
    pub(crate) fn tokens(tokens: TokenBudget) -> Self {
        Self {
            tokens,
            json_bytes: u64::MAX,
        }
    }
}

/// Returns whether a text has at most `most` bytes as a JSON string, quotes included.
pub(crate) fn holds_as_json(text: &str, most: u64) -> bool {
    // Skips the count if there is no limit.
    most == u64::MAX || json!(text).to_string().len() as u64 <= most
}

/// Text for a model, counted after rendering and within its bounds. Edges accept model-bound text
/// only in this form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presentation {
    text: String,
    tokens: u64,
}

impl Presentation {
    /// Counts `text`; `None` if it exceeds a bound.
    pub fn new(text: String, bounds: &Bounds, counter: &dyn TokenCounter) -> Option<Self> {
        let tokens = counter.count(&text);
        let fits = tokens <= bounds.tokens.get() && holds_as_json(&text, bounds.json_bytes);
        fits.then_some(Self { text, tokens })
    }

    /// Creates a text whose profile limits another unit than tokens: characters, bytes or lines of
    /// the result.
    pub(crate) fn of_format(text: String, counter: &dyn TokenCounter) -> Self {
        Self::new(text, &Bounds::of_format(), counter).expect("invariant: it has no bound")
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the tokens of the text.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// The content of a message before rendering.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    /// Parts, some of which can be dropped, and the bounds.
    Parts(Box<Parts>, Bounds),
    /// One text and its bounds.
    Text(String, Bounds),
}

/// The titles of the sections.
pub(crate) const CHANGES: &str = "changes:";
pub(crate) const FAILURE: &str = "failure:";
pub(crate) const SHAPE: &str = "shape:";
pub(crate) const INSIDE: &str = "inside:";
pub(crate) const FIRST: &str = "first:";
pub(crate) const HEAD: &str = "head:";
const TAIL: &str = "tail:";

/// The parts of a message, each within its share of the budget.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    /// One line: what the result is and where it is stored.
    pub(crate) headline: String,
    /// What differs from the earlier result of the same call.
    pub(crate) changes: Vec<String>,
    /// The lines that say how and why a run failed.
    pub(crate) failure: Vec<String>,
    /// The lines of the outline.
    pub(crate) shape: Vec<String>,
    /// The outlines of the long texts inside a JSON document.
    pub(crate) inside: Vec<String>,
    /// The first record or two of a list.
    pub(crate) first: Vec<String>,
    /// The first lines, numbered.
    pub(crate) head: Vec<String>,
    /// The last lines, numbered.
    pub(crate) tail: Vec<String>,
    /// The calls that the reader can make next.
    pub(crate) hints: Vec<String>,
    /// A line with the names of other calls; empty if there are none.
    pub(crate) also: String,
}

impl Message {
    /// Creates a text whose format limits another unit than tokens.
    pub(crate) fn fixed(text: String) -> Self {
        Self::Text(text, Bounds::of_format())
    }

    /// Replaces secrets by marks in all texts. The texts of the result itself have marks already;
    /// this covers what stands beside them, such as the command in the headline.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        let mark = |text| redactor.owned(text);
        match self {
            Self::Text(text, bounds) => Self::Text(mark(text), bounds),
            Self::Parts(parts, bounds) => Self::Parts(Box::new(parts.map(mark)), bounds),
        }
    }

    /// Puts another name in place of the handle in all texts.
    pub(crate) fn renamed(self, handle: &str, alias: &str) -> Self {
        let rename = |text: String| text.replace(handle, alias);
        match self {
            Self::Text(text, bounds) => Self::Text(rename(text), bounds),
            Self::Parts(parts, bounds) => Self::Parts(Box::new(parts.map(rename)), bounds),
        }
    }

    /// Renders the text within the bounds.
    pub(crate) fn render(self, counter: &dyn TokenCounter) -> Presentation {
        match self {
            Self::Text(mut text, bounds) => loop {
                if let Some(presented) = Presentation::new(text.clone(), &bounds, counter) {
                    return presented;
                }
                if text.is_empty() {
                    return Presentation::of_format(text, counter);
                }
                text.truncate(text.floor_char_boundary(text.len() * 7 / 8));
            },
            Self::Parts(parts, bounds) => parts.render(&bounds, counter),
        }
    }
}

impl Parts {
    /// Applies a function to all texts.
    fn map(self, change: impl Fn(String) -> String) -> Self {
        let all = |lines: Vec<String>| lines.into_iter().map(&change).collect();
        Self {
            headline: change(self.headline),
            changes: all(self.changes),
            failure: all(self.failure),
            shape: all(self.shape),
            inside: all(self.inside),
            first: all(self.first),
            head: all(self.head),
            tail: all(self.tail),
            hints: all(self.hints),
            also: change(self.also),
        }
    }

    /// Returns the calls at the end of the message.
    #[cfg(feature = "templates")]
    pub(crate) fn next(&self) -> Vec<String> {
        let also = (!self.also.is_empty()).then(|| self.also.clone());
        self.hints.iter().cloned().chain(also).collect()
    }

    /// Drops what exceeds the bounds: first head and tail if there are too many tokens, then line
    /// by line from the end. The first line always stays.
    fn render(mut self, bounds: &Bounds, counter: &dyn TokenCounter) -> Presentation {
        let presented = |parts: &Self, lines: &[String]| {
            let text = parts.text(lines);
            Presentation::new(text, bounds, counter)
        };
        let mut lines = self.lines();
        if counter.exceeds(&self.text(&lines), bounds.tokens.get()) {
            // Joined parts may cost a token or two more than the sum of the parts.
            (self.first, self.head, self.tail) = (Vec::new(), Vec::new(), Vec::new());
            lines = self.lines();
        }
        loop {
            if let Some(presented) = presented(&self, &lines) {
                return presented;
            }
            let has_dropped = lines.pop().is_some()
                || !std::mem::take(&mut self.also).is_empty()
                || self.hints.pop().is_some();
            if !has_dropped {
                return Presentation::of_format(self.headline, counter);
            }
        }
    }

    /// Returns the lines of the sections under their titles.
    fn lines(&self) -> Vec<String> {
        let sections = [
            (CHANGES, &self.changes),
            (FAILURE, &self.failure),
            (SHAPE, &self.shape),
            (INSIDE, &self.inside),
            (FIRST, &self.first),
            (HEAD, &self.head),
            (TAIL, &self.tail),
        ];
        let shown = sections.into_iter().filter(|(_, lines)| !lines.is_empty());
        let titled = |(title, lines): (&str, &Vec<String>)| {
            let lines = lines.iter().cloned();
            std::iter::once(title.to_owned())
                .chain(lines)
                .collect::<Vec<_>>()
        };
        shown.flat_map(titled).collect()
    }

    fn text(&self, lines: &[String]) -> String {
        let mut text = format!("{}\n", self.headline);
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        text + &next_lines(&self.hints, &self.also)
    }
}

/// Formats the next calls as they stand at the end of a message.
pub(crate) fn next_lines(hints: &[String], also: &str) -> String {
    let hints = hints.iter().map(|call| format!("next: {call}"));
    let also = (!also.is_empty()).then(|| also.to_owned());
    hints.chain(also).collect::<Vec<_>>().join("\n")
}

/// Formats lines under a title; empty without lines.
pub(crate) fn section(title: &str, lines: &[String]) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => format!("{title}\n{}\n", lines.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_text::Tokenizer;

    use super::*;

    /// A budget that may be below [`TokenBudget::LEAST`].
    fn budget(tokens: u64) -> TokenBudget {
        TokenBudget::new(1000).less(1000 - tokens)
    }

    #[test]
    fn what_costs_too_much_gives_way() {
        let lines = |from: u64| {
            (from..from + 2)
                .map(|n| format!("   {n} \"row\""))
                .collect()
        };
        let parts = Parts {
            headline: "[spillgate] list returned much".to_owned(),
            changes: Vec::new(),
            failure: Vec::new(),
            shape: vec!["  2 rows".to_owned()],
            inside: Vec::new(),
            first: Vec::new(),
            head: lines(1),
            tail: lines(8),
            hints: vec!["look()".to_owned()],
            also: "also: seek()".to_owned(),
        };
        let shown = |tokens, json_bytes| {
            let bounds = Bounds {
                tokens: budget(tokens),
                json_bytes,
            };
            let counter = Tokenizer::Heuristic.counter();
            let shown = Message::Parts(Box::new(parts.clone()), bounds).render(&*counter);
            let (bytes, text) = (json!(shown.text()).to_string().len(), shown.text());
            format!(
                "{} tokens, {bytes} bytes: {}",
                shown.tokens(),
                text.replace('\n', "|")
            )
        };
        let all = [
            shown(1000, u64::MAX),
            shown(30, u64::MAX),
            shown(1000, 140),
            shown(1000, 70),
            shown(12, u64::MAX),
            shown(1, 1),
        ];
        assert_snapshot!(all.join("\n"), @r#"
        32 tokens, 148 bytes: [spillgate] list returned much|shape:|  2 rows|head:|   1 "row"|   2 "row"|tail:|   8 "row"|   9 "row"|next: look()|also: seek()
        18 tokens, 78 bytes: [spillgate] list returned much|shape:|  2 rows|next: look()|also: seek()
        30 tokens, 134 bytes: [spillgate] list returned much|shape:|  2 rows|head:|   1 "row"|   2 "row"|tail:|   8 "row"|next: look()|also: seek()
        16 tokens, 68 bytes: [spillgate] list returned much|shape:|next: look()|also: seek()
        11 tokens, 46 bytes: [spillgate] list returned much|next: look()
        8 tokens, 32 bytes: [spillgate] list returned much
        "#);
    }

    #[test]
    fn a_text_in_one_piece_is_cut_where_it_must_be() {
        let counter = Tokenizer::Heuristic.counter();
        for (tokens, json_bytes) in [(10, u64::MAX), (1000, 50), (1, 0)] {
            let bounds = Bounds {
                tokens: budget(tokens),
                json_bytes,
            };
            let shown = Message::Text("\u{1f680} ".repeat(100), bounds).render(&*counter);
            let bytes = json!(shown.text()).to_string().len() as u64;
            let is_held = shown.tokens() <= tokens && bytes <= json_bytes;
            assert!(is_held || shown.text().is_empty(), "{shown:?}");
        }
    }
}
