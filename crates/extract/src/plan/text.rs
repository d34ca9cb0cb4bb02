//! Rates each line of a text by how much harm a cut before this line would do.

use spillgate_artifact::ContentKind;

use super::rows::{Line, WITHIN_LINE};

/// Rank of a heading, or of the first line of a file's diff.
const SECTION: u16 = 0;
/// Rank of a line after an empty line, or of the start of a hunk in a diff.
const PARAGRAPH: u16 = 1;
/// Rank of a line with a timestamp of its own, or of an unindented line of code.
const RECORD: u16 = 2;
/// Rank of any other line that is not indented.
const LINE: u16 = 3;
/// Rank of a line that belongs to those above it, because it is indented or closes something.
const PART: u16 = 4;

/// Ranks lines from front to back by how much harm a cut before each of them does.
#[derive(Debug)]
pub(crate) struct Ranker {
    kind: ContentKind,
    after_blank: bool,
    /// Whether the current line is inside a fenced block of Markdown.
    is_fenced: bool,
}

impl Ranker {
    pub(crate) fn new(kind: ContentKind) -> Self {
        Self {
            kind,
            after_blank: false,
            is_fenced: false,
        }
    }

    pub(crate) fn rank(&mut self, line: Line<'_>) -> u16 {
        if line.continues {
            return WITHIN_LINE;
        }
        let text = line.text.trim_ascii_start();
        let after_blank = std::mem::replace(&mut self.after_blank, text.is_empty());
        if self.kind == ContentKind::Markdown && text.starts_with(b"```") {
            self.is_fenced = !self.is_fenced;
            // The fence that ends a block belongs to the block.
            return if self.is_fenced { PARAGRAPH } else { PART };
        }
        if text.is_empty() || self.is_fenced {
            return PART;
        }
        let is_indented = text.len() < line.text.len();
        match self.kind {
            ContentKind::Markdown if text[0] == b'#' && !is_indented => SECTION,
            ContentKind::Diff => rank_diff(line.text),
            _ if is_indented => match after_blank {
                true => LINE,
                false => PART,
            },
            _ if closes(text) => PART,
            _ if after_blank => PARAGRAPH,
            ContentKind::Code => RECORD,
            _ if has_time(text) => RECORD,
            _ => LINE,
        }
    }
}

fn rank_diff(text: &[u8]) -> u16 {
    match text {
        [b'd', b'i', b'f', b'f', b' ', ..] => SECTION,
        [b'@', b'@', ..] => PARAGRAPH,
        [b'+' | b'-', ..] => PART,
        _ => LINE,
    }
}

/// Returns whether a line closes something, or continues a stack trace.
fn closes(text: &[u8]) -> bool {
    matches!(text[0], b'}' | b')' | b']')
        || text.starts_with(b"</")
        || text.starts_with(b"Caused by")
        || text.starts_with(b"...")
}

/// Returns whether a line begins like a log record: with digits followed by `-`, `:`, `/` or `.`,
/// possibly after an opening bracket.
fn has_time(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"[").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits >= 2 && matches!(text.get(digits), Some(b'-' | b':' | b'/' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(kind: ContentKind, text: &str) -> Vec<u16> {
        let mut ranker = Ranker::new(kind);
        let line = |text| Line {
            number: 1,
            start: 0,
            text,
            continues: false,
        };
        let lines = text.split_inclusive('\n');
        lines
            .map(|text| ranker.rank(line(text.as_bytes())))
            .collect()
    }

    #[test]
    fn lines_are_ranked_by_what_begins_there() {
        let cases: [(ContentKind, &str, &[u16]); 7] = [
            (
                ContentKind::Log,
                "2026-11-21T10:00:01Z ERROR x\njava.lang.Error: y\n\tat a.b\nCaused by: z\n[10:22:33] w\n",
                &[RECORD, LINE, PART, PART, RECORD],
            ),
            (
                ContentKind::Markdown,
                "# A\n\ntext\nmore\n```sh\n# no\n```\n## B\n",
                &[
                    SECTION, PART, PARAGRAPH, LINE, PARAGRAPH, PART, PART, SECTION,
                ],
            ),
            (
                ContentKind::Code,
                "fn a() {\n    b();\n\n    c();\n}\n\nfn d() {}\nuse e;\n",
                &[RECORD, PART, PART, LINE, PART, PART, PARAGRAPH, RECORD],
            ),
            (
                ContentKind::Diff,
                "diff --git a b\n@@ -1 +1 @@\n-x\n+y\n z\n",
                &[SECTION, PARAGRAPH, PART, PART, LINE],
            ),
            (
                ContentKind::Text,
                "1984 was\n12.5 x\n# y\n",
                &[LINE, RECORD, LINE],
            ),
            (
                ContentKind::Html,
                "<ul>\n<li>\n</li>\n",
                &[LINE, LINE, PART],
            ),
            (ContentKind::Text, "\r\n\r\n", &[PART, PART]),
        ];
        for (kind, text, want) in cases {
            assert_eq!(ranks(kind, text), want, "{text}");
        }
    }
}
