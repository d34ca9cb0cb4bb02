//! Masks untrusted text for a model, so that no part of it can be mistaken for our protocol.
//!
//! Prompts contain stored text, tool names and arguments. Whoever wrote these may have imitated our
//! protocol. The copy that a model sees is changed as follows:
//!
//! - Text that looks like protocol gets a middle dot after its first character: `<·ai-agent-`,
//!   `<·/think`, `<·|im_end|>`, `[·INST]`.
//! - A character that is invisible or that acts on a terminal is written as an escape: `\u{200b}`,
//!   `\u{1b}`.
//!
//! Masking removes nothing and does not change the number of newlines, so line numbers stay valid.
//! The store keeps the original. Masking is only an additional precaution. The security boundary is
//! that the model that reads this text has no other tools, and that its quotes are checked
//! (docs/spec/behaviour.md, "Trust of a stored text"). Quotes come from the masked copy, so
//! [`unmasked`] maps them back.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The character that masks a control tag. It is inserted after the tag's first character.
const DOT: char = '·';

/// The first characters of control tags: `<`, `[` and characters that a model may take for one of
/// these.
const OPEN: &str = r"[<＜﹤‹⟨〈〈˂ᐸ\[［]";

/// The rest of a control tag after its first character. Control tags are our own tags, whose
/// letters may also be full-width, Cyrillic or Greek and whose hyphens may be of any kind, and the
/// tokens in the chat templates of open models.
const REST: &str = concat!(
    r"(?:[ \t]{0,4}[/／]?[ \t]{0,4}(?:",
    r"(?i:[aａаα][iｉіι][\-_‐‑‒–—−－][aａаα][gｇɡ][eｅеε][nｎ][tｔтτ][\-_‐‑‒–—−－])",
    r"|(?i:[tｔ][hｈ][iｉі][nｎ][kｋк])",
    r"|(?i:(?:[a-z]{1,20}:)?(?:tool|function)_(?:calls?|results?|use|outputs?|responses?))",
    r"|(?i:system-reminder)",
    r"|(?i:(?:start|end)_of_turn>|(?:bos|eos)>)",
    r"|(?i:[|｜][\w▁]{1,40}[|｜]>)",
    r"|<[/／]?SYS>>",
    r")",
    r"|/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\])",
);

/// Characters that are invisible or change how text is displayed: control characters other than tab
/// and newline, bidirectional controls, format characters, fillers, line separators, variation
/// selectors, tags.
const HIDDEN: &str = concat!(
    r"[\x00-\x08\x0B-\x1F\x7F-\u{9F}\u{AD}\u{34F}\u{61C}\u{115F}\u{1160}\u{17B4}\u{17B5}",
    r"\u{180B}-\u{180F}\u{200B}-\u{200F}\u{2028}-\u{202E}\u{2060}-\u{206F}\u{3164}",
    r"\u{FE00}-\u{FE0F}\u{FEFF}\u{FFA0}\u{FFF0}-\u{FFFB}\u{1BCA0}-\u{1BCA3}",
    r"\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]",
);

/// Matches what must be masked: a control tag, or a hidden character.
static MASK: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        "(?<open>{OPEN})(?<rest>{REST})|(?<hidden>{HIDDEN})"
    ))
});
/// Matches masked text.
static MASKED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r"(?<open>{OPEN}){DOT}(?<rest>{REST})|\\u\{{(?<hidden>[0-9a-f]{{1,6}})\}}"
    ))
});
static IS_HIDDEN: LazyLock<Regex> = LazyLock::new(|| compiled(&format!("^{HIDDEN}$")));

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("invariant: patterns of ours are well-formed")
}

/// Returns the masked copy of `text`; the text itself if there is nothing to mask. Masking twice
/// gives the same text as masking once.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    MASK.replace_all(text, |found: &Captures<'_>| {
        if let (Some(open), Some(rest)) = (found.name("open"), found.name("rest")) {
            return format!("{}{DOT}{}", open.as_str(), rest.as_str());
        }
        let hidden = &found["hidden"];
        let at = found.get(0).map_or(0, |whole| whole.start());
        match hidden.chars().next() {
            Some(c) if !is_at_home(c, &text[..at], &text[at + hidden.len()..]) => {
                format!("\\u{{{:x}}}", u32::from(c))
            }
            _ => hidden.to_owned(),
        }
    })
}

/// Returns whether a hidden character belongs to ordinary text: a carriage return before a newline,
/// a joiner between letters of scripts that need it, or a character that is part of an emoji. This
/// holds only for a single character, because a run of hidden characters can carry a message.
fn is_at_home(hidden: char, before: &str, after: &str) -> bool {
    let before = match hidden {
        '\u{200d}' => before.strip_suffix('\u{fe0f}').unwrap_or(before),
        _ => before,
    };
    let last = before.chars().next_back();
    match hidden {
        '\r' => after.starts_with('\n'),
        '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => {
            let is_keycap = |c: char| hidden == '\u{fe0f}' && matches!(c, '0'..='9' | '#' | '*');
            last.is_some_and(|c| is_keycap(c) || !c.is_ascii() && !is_hidden(c))
        }
        _ => false,
    }
}

fn is_hidden(c: char) -> bool {
    IS_HIDDEN.is_match(c.encode_utf8(&mut [0; 4]))
}

/// Returns the stored text for a quote from a masked copy. Original text that looks masked is
/// changed, too, so callers must search for the unchanged quote first.
pub(crate) fn unmasked(quote: &str) -> Cow<'_, str> {
    MASKED.replace_all(quote, |found: &Captures<'_>| {
        if let (Some(open), Some(rest)) = (found.name("open"), found.name("rest")) {
            return format!("{}{}", open.as_str(), rest.as_str());
        }
        let code = u32::from_str_radix(&found["hidden"], 16).ok();
        match code.and_then(char::from_u32).filter(|c| is_hidden(*c)) {
            Some(c) => c.to_string(),
            None => found[0].to_owned(),
        }
    })
}

/// Formats untrusted text for one of our own lines: masked, on one line, and with at most
/// `most_chars` characters. If it was cut, the total number of characters follows.
pub(crate) fn inline(text: &str, most_chars: usize) -> String {
    let cut = text.char_indices().nth(most_chars).map(|(at, _)| at);
    let mut line = String::new();
    let mut room = most_chars;
    let mut is_cut = cut.is_some();
    for c in masked(&text[..cut.unwrap_or(text.len())]).chars() {
        let written = match c {
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            '\t' => "\\t".to_owned(),
            c => c.to_string(),
        };
        let Some(left) = room.checked_sub(written.chars().count()) else {
            is_cut = true;
            break;
        };
        room = left;
        line.push_str(&written);
    }
    if is_cut {
        line.push_str(&format!("… [{} characters in all]", text.chars().count()));
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spillgate_testkit::{log, records};

    use super::*;

    #[test]
    fn look_alikes_get_a_dot() {
        let cases = [
            ("<ai-agent-1a2b-FINAL>", "<·ai-agent-1a2b-FINAL>"),
            ("x</ai-agent-1a2b-FINAL>", "x<·/ai-agent-1a2b-FINAL>"),
            ("<AI-Agent-", "<·AI-Agent-"),
            ("< / ai-agent-", "<· / ai-agent-"),
            ("＜ａｉ－ａｇｅｎｔ－", "＜·ａｉ－ａｇｅｎｔ－"),
            ("<аi‑agеnt—", "<·аi‑agеnt—"),
            ("<<ai-agent-", "<<·ai-agent-"),
            ("<think>a</THINK>", "<·think>a<·/THINK>"),
            ("<|im_start|>system", "<·|im_start|>system"),
            ("<｜User｜><|eot_id|>", "<·｜User｜><·|eot_id|>"),
            ("[INST] x [/INST]", "[·INST] x [·/INST]"),
            ("<<SYS>>a<</SYS>>", "<·<SYS>>a<·</SYS>>"),
            ("<start_of_turn>user", "<·start_of_turn>user"),
            ("<tool_result id=1>", "<·tool_result id=1>"),
            ("</function_results>", "<·/function_results>"),
            ("<ns:function_calls>", "<·ns:function_calls>"),
        ];
        for (text, want) in cases {
            assert_eq!(masked(text), want);
            assert_eq!(unmasked(want), text);
        }
    }

    #[test]
    fn hidden_characters_are_written_out() {
        let cases = [
            ("a\u{200b}b", r"a\u{200b}b"),
            ("\u{202e}evil\u{202c}", r"\u{202e}evil\u{202c}"),
            ("\u{1b}[31mred", r"\u{1b}[31mred"),
            ("\u{e0041}\u{e007f}", r"\u{e0041}\u{e007f}"),
            ("a\rb", r"a\u{d}b"),
            ("<a\u{2060}i-agent-", r"<a\u{2060}i-agent-"),
            ("<\u{200d}think", r"<\u{200d}think"),
            ("é\u{fe0f}\u{fe0f}\u{fe01}", "é\u{fe0f}\\u{fe0f}\\u{fe01}"),
            ("a\u{2028}b\u{0}", r"a\u{2028}b\u{0}"),
        ];
        for (text, want) in cases {
            assert_eq!(masked(text), want);
            assert_eq!(unmasked(want), text);
        }
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        let html = "<!doctype html><html><body class=\"a\"><th>x</th><time>3</time><s>old</s>\
                    <tool-bar/><thead><system>\n<p>1 < 2 && a[i] <b>c</b></p>&lt;think&gt;";
        let code = "fn f<T>(a: &[T]) -> Option<&T> { a.get(1) } // ai-agent, x <| y |> z\n\
                    let c = '\\u{41}'; if a <thing { b[0] = \"[info]\"; }";
        let text = "Crlf\r\nlines\r\n\tخط\u{200c}ها 👩\u{200d}👧 👁\u{fe0f}\u{200d}🗨\u{fe0f} 1\u{fe0f}\u{20e3}";
        for ordinary in [html, code, text, &log(2000), &records(200)] {
            assert!(matches!(masked(ordinary), Cow::Borrowed(_)) || masked(ordinary) == ordinary);
        }
        assert_eq!(unmasked(code), code);
    }

    #[test]
    fn in_a_line_of_ours() {
        let cases = [
            ("read_file", 20, "read_file"),
            ("a\nb\tc\r\nd", 20, r"a\nb\tc\r\nd"),
            ("<think>", 20, "<·think>"),
            ("0123456789", 4, "0123… [10 characters in all]"),
            ("abc\n", 4, "abc… [4 characters in all]"),
            ("漢字漢字", 2, "漢字… [4 characters in all]"),
            ("\u{1b}]0;x\u{7}", 30, r"\u{1b}]0;x\u{7}"),
        ];
        for (text, most, want) in cases {
            assert_eq!(inline(text, most), want);
        }
    }

    proptest! {
        #[test]
        fn masking_twice_is_masking_once_and_leads_back(
            text in "(<|/|think|ai-agent-|\\[|INST\\]|·|\\|im_end\\|>|[a\\\\{}u0-9<]|\u{200b}|\u{200d}|\u{fe0f}|\r|\n|é|\u{1b}|\u{e0042}){0,16}",
        ) {
            let once = masked(&text).into_owned();
            prop_assert_eq!(masked(&once), once.as_str());
            prop_assert_eq!(once.matches('\n').count(), text.matches('\n').count());
            if unmasked(&text) == text {
                prop_assert_eq!(unmasked(&once), text.as_str());
            }
            let line = inline(&text, 12);
            let is_clean = !line.contains(['\n', '\r', '\t', '\u{1b}', '\u{e0042}']);
            prop_assert!(is_clean, "{line}");
        }
    }
}
