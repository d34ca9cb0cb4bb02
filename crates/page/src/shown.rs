//! Formats facts for a person. Texts from outside are marked, cut and without secrets.

use std::borrow::Cow;

use maud::{Markup, html};
use spillgate_artifact::{Ending, Facts, Manifest, Timestamp, Tokens};
use spillgate_offload::Offloader;
use spillgate_outline::grouped;

/// Returns a text from outside on one line, with marks in place of hidden characters.
pub(crate) fn line(text: &str, most: usize) -> String {
    spillgate_untrusted::line(text, most)
}

/// Returns a text from outside with marks in place of hidden characters.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    spillgate_untrusted::marked(text)
}

/// Returns a size in bytes with a unit.
pub(crate) fn size(bytes: u64) -> String {
    bytesize::ByteSize(bytes).to_string()
}

/// Returns a number of tokens; `≈` stands before one that was extrapolated.
pub(crate) fn tokens(tokens: Tokens) -> String {
    let about = if tokens.exact { "" } else { "≈" };
    format!("{about}{}", grouped(tokens.count))
}

/// Returns a duration in milliseconds in a readable unit.
pub(crate) fn took(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        60_000..3_600_000 => format!("{}m {}s", millis / 60_000, millis / 1000 % 60),
        _ => format!("{}h {}m", grouped(millis / 3_600_000), millis / 60_000 % 60),
    }
}

/// Returns the links to other pages of a list; nothing if there is only one page. `to` returns the
/// address of a page.
pub(crate) fn pages(number: usize, last: usize, to: &dyn Fn(usize) -> String) -> Markup {
    html! {
        @if last > 1 || number > 1 {
            nav.pages aria-label="Pages" {
                @if number > 1 {
                    a href=(to(1)) { "First" }
                    a rel="prev" href=(to(number - 1)) { "Previous" }
                }
                span { "page " (grouped(number as u64)) " of " (grouped(last as u64)) }
                @if number < last {
                    a rel="next" href=(to(number + 1)) { "Next" }
                    a href=(to(last)) { "Last" }
                }
            }
        }
    }
}

/// Returns a time, which the script replaces by the time here.
pub(crate) fn time(at: Timestamp) -> Markup {
    let exact = at.to_string();
    let short = exact.replace('T', " ");
    html! { time datetime=(exact) { (short.trim_end_matches('Z')) } }
}

/// How a command or a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Well,
    Badly,
    Unknown,
}

/// Returns whether the command or the call failed.
pub(crate) fn how(facts: &Facts) -> How {
    match facts.ending.and_then(|ending| ending.is_failure()) {
        Some(true) => How::Badly,
        _ if facts.is_error => How::Badly,
        Some(false) => How::Well,
        None => How::Unknown,
    }
}

/// Returns how the command or the call ended, in a word.
pub(crate) fn ended(facts: &Facts) -> Markup {
    let (word, class) = match (facts.ending, how(facts)) {
        (
            Some(Ending {
                signal: Some(signal),
                ..
            }),
            _,
        ) => (format!("signal {signal}"), "bad"),
        (
            Some(Ending {
                exit_code: Some(code),
                ..
            }),
            how,
        ) => {
            let class = if how == How::Badly { "bad" } else { "good" };
            (format!("exit {code}"), class)
        }
        (_, How::Badly) => ("error".to_owned(), "bad"),
        _ => return html! { span.faint { "–" } },
    };
    html! { span.badge.(class) { (word) } }
}

/// Returns the name of a server or a tool.
pub(crate) fn name(name: &str) -> String {
    line(name, 80)
}

/// Returns the server and the tool of an output.
pub(crate) fn source(facts: &Facts) -> String {
    let origin = &facts.origin;
    match &origin.server {
        Some(server) => format!("{}/{}", name(server), name(&origin.tool)),
        None => name(&origin.tool),
    }
}

/// Characters at the end of a call that a narrow column does not cut off.
const END: usize = 24;

/// Returns the command line or the arguments of a call on one line. A secret is marked before the
/// text is cut, because no rule finds a part of one. The cut is in the middle: calls of the same
/// program often differ only at the end.
pub(crate) fn call(offloader: &Offloader, manifest: &Manifest, most: usize) -> String {
    let arguments = manifest.facts.origin.arguments.as_deref();
    without_middle(&offloader.redacted(arguments.unwrap_or_default()), most)
}

/// Returns a call in two parts, of which the style sheet cuts only the first.
pub(crate) fn parts_of_call(call: &str) -> Markup {
    let (start, end) = split(call, END);
    html! { span.start { (start) } span.end { (end) } }
}

/// Returns a text from outside on one line, at most `most` characters long, with `…` in place of what
/// is left out of its middle.
fn without_middle(text: &str, most: usize) -> String {
    let whole = line(text, usize::MAX);
    if whole.chars().nth(most).is_none() {
        return whole;
    }
    let (_, end) = split(&whole, most / 3);
    line(&whole, most - end.chars().count()) + end
}

/// Splits off at most `most` characters at the end. A mark of a hidden character stays whole.
fn split(text: &str, most: usize) -> (&str, &str) {
    let last = text.char_indices().rev().take(most).last();
    let at = last.map_or(text.len(), |(at, _)| at);
    let at = match (text[at..].find('⟩'), text[at..].find('⟨')) {
        (Some(end), start) if start.is_none_or(|start| end < start) => at + end + '⟩'.len_utf8(),
        _ => at,
    };
    text.split_at(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_cut_in_the_middle() {
        assert_eq!(without_middle("cargo  test", 11), "cargo test");
        let long = format!("cargo test {} --exact", "x".repeat(50));
        assert_eq!(without_middle(&long, 24), "cargo test xxxx… --exact");
        assert_eq!(
            parts_of_call(&long).into_string(),
            format!(
                "<span class=\"start\">cargo test {}</span><span class=\"end\">{} --exact</span>",
                "x".repeat(34),
                "x".repeat(16)
            )
        );
        assert_eq!(
            parts_of_call("<b>").into_string(),
            "<span class=\"start\"></span><span class=\"end\">&lt;b&gt;</span>"
        );
    }

    #[test]
    fn marks_are_not_cut() {
        assert_eq!(split("ab⟨U+202E⟩cd", 5), ("ab⟨U+202E⟩", "cd"));
        assert_eq!(split("ab⟨U+202E⟩cd", 10), ("ab", "⟨U+202E⟩cd"));
        assert_eq!(split("ab⟨U+202E⟩", 3), ("ab⟨U+202E⟩", ""));
        assert_eq!(split("é", 0), ("é", ""));
        assert_eq!(split("é", 9), ("", "é"));
    }
}
