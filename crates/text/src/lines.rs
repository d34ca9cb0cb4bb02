//! Defines where a line of a view (the readable text of an output) ends.

use memchr::{memchr, memmem};
use spillgate_artifact::Layout;

/// Number of characters after which a line is broken at a separator (docs/spec/behaviour.md,
/// "Views").
pub const SOFT_CHARS: usize = 1000;

/// Maximum bytes of a view line, so that a single line never fills a page.
pub const HARD_BYTES: usize = 2000;

/// Number of bytes before the limit [`SOFT_CHARS`] that are searched for a separator.
const LOOK_BACK: usize = 200;

/// Returns the end of the view line that `text` begins with: after its newline, after a soft break
/// or, in markup, between `>` and `<`. Returns `None` if more text is needed. If `at_end` is true,
/// no more text follows, and the rest is a line.
#[must_use]
pub fn line_end(text: &[u8], layout: Layout, at_end: bool) -> Option<usize> {
    let window = &text[..text.len().min(HARD_BYTES + 1)];
    let newline = memchr(b'\n', window);
    let line = &window[..newline.unwrap_or(window.len())];
    if layout == Layout::Markup
        && let Some(gap) = memmem::find(&line[..line.len().min(HARD_BYTES)], b"><")
    {
        return Some(soft_break(&line[..=gap], true).unwrap_or(gap + 1));
    }
    let whole = at_end || newline.is_some();
    match (soft_break(line, whole), newline) {
        (Some(end), _) => Some(end),
        (None, Some(newline)) => Some(newline + 1),
        // The line is not too long yet, but may become too long.
        (None, None) if !at_end => None,
        (None, None) => (!text.is_empty()).then_some(text.len()),
    }
}

/// Returns where a line that is too long is broken. Returns `None` if the line is not too long, or
/// if this depends on bytes that have not arrived (`whole` is false). `line` has at most
/// [`HARD_BYTES`] + 1 bytes.
fn soft_break(line: &[u8], whole: bool) -> Option<usize> {
    if line.len() <= SOFT_CHARS {
        return None;
    }
    let starts = line.iter().enumerate().filter(|(_, b)| is_char_start(**b));
    let limit = starts.map(|(at, _)| at).nth(SOFT_CHARS);
    if limit.is_none() && line.len() <= HARD_BYTES {
        return None;
    }
    let hard = HARD_BYTES.min(line.len());
    let limit = limit.unwrap_or(hard).min(hard);
    let back = limit.saturating_sub(LOOK_BACK);
    if let Some(at) = line[back..limit]
        .iter()
        .rposition(|&byte| is_separator(byte))
    {
        return Some(back + at + 1);
    }
    if let Some(at) = line[limit..hard]
        .iter()
        .position(|&byte| is_separator(byte))
    {
        return Some(limit + at + 1);
    }
    if hard == line.len() {
        return whole.then_some(hard);
    }
    let start = (1..=hard).rev().find(|&at| is_char_start(line[at]));
    Some(start.unwrap_or(hard))
}

fn is_char_start(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// Returns whether a line may be broken after `byte`. All separators are ASCII, so a break is never
/// inside a character.
fn is_separator(byte: u8) -> bool {
    b" \t,;:/\\|?&=+-_()[]{}\"'<>".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str, layout: Layout) -> Vec<String> {
        let (mut rest, mut lines) = (text.as_bytes(), Vec::new());
        while let Some(end) = line_end(rest, layout, true) {
            lines.push(String::from_utf8(rest[..end].to_vec()).unwrap());
            rest = &rest[end..];
        }
        lines
    }

    #[test]
    fn short_lines_end_at_their_newline() {
        assert_eq!(lines("a\n\nb", Layout::AsIs), ["a\n", "\n", "b"]);
        assert_eq!(lines("", Layout::AsIs), [""; 0]);
        let long = "x".repeat(SOFT_CHARS);
        assert_eq!(lines(&long, Layout::AsIs), [long.as_str()]);
    }

    #[test]
    fn long_lines_break_after_a_separator() {
        let words = "word ".repeat(500);
        let lengths: Vec<usize> = lines(&words, Layout::AsIs)
            .iter()
            .map(String::len)
            .collect();
        assert_eq!(lengths, [1000, 1000, 500]);
        let late = format!("{},{}", "x".repeat(1500), "y".repeat(300));
        let lengths: Vec<usize> = lines(&late, Layout::AsIs).iter().map(String::len).collect();
        assert_eq!(lengths, [1501, 300]);
    }

    #[test]
    fn without_a_separator_they_break_hard() {
        let lengths = |text: &str| -> Vec<usize> {
            lines(text, Layout::AsIs).iter().map(String::len).collect()
        };
        assert_eq!(lengths(&"x".repeat(4500)), [2000, 2000, 500]);
        assert_eq!(lengths(&"漢".repeat(1400)), [1998, 1998, 204]);
    }

    #[test]
    fn markup_breaks_between_tags() {
        assert_eq!(
            lines("<ul><li>a</li> <li>b\n</li></ul>", Layout::Markup),
            ["<ul>", "<li>a</li> <li>b\n", "</li>", "</ul>"]
        );
    }

    proptest! {
        #[test]
        fn lines_are_bounded_and_put_together_the_text(
            text in "([a-z ]{0,90}|[漢🚀]{0,700}|x{900,1100}|\n|><){0,12}",
            markup: bool,
        ) {
            let layout = if markup { Layout::Markup } else { Layout::AsIs };
            let lines = lines(&text, layout);
            prop_assert!(lines.iter().all(|line| line.len() <= HARD_BYTES + 1));
            prop_assert_eq!(lines.concat(), text);
        }

        #[test]
        fn more_text_never_moves_an_end(
            text in "([a-z ]{0,90}|[漢🚀]{0,700}|x{900,1100}|\n){0,6}",
            cut in 0usize..6000,
        ) {
            let bytes = text.as_bytes();
            let part = &bytes[..cut.min(bytes.len())];
            if let Some(end) = line_end(part, Layout::AsIs, false) {
                prop_assert_eq!(Some(end), line_end(bytes, Layout::AsIs, true));
            }
        }
    }
}
