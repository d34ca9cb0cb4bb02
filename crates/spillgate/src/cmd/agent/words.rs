//! How are figures and strangers' texts written for a person?

use std::time::Duration;

use spillgate_llm::Usage;

/// `text` on one line of at most so many characters. What a tool or a model wrote
/// must not reach a terminal as it is: control characters move cursors and colour
/// texts, and some others turn the direction of writing.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut room = most;
    let mut is_space = true;
    for c in text.trim().chars() {
        if room == 0 {
            line.pop();
            line.push('…');
            break;
        }
        let c = match c {
            c if c.is_whitespace() => ' ',
            c if c.is_control() || is_invisible(c) => '\u{fffd}',
            c => c,
        };
        if c == ' ' && is_space {
            continue;
        }
        is_space = c == ' ';
        line.push(c);
        room -= 1;
    }
    line.truncate(line.trim_end().len());
    line
}

/// Characters that have no width, or that change the order in which others are
/// shown.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// 1234567 as 1,234,567.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One of them, or several.
pub(super) fn count(many: u64, one: &str, several: &str) -> String {
    match many {
        1 => format!("1 {one}"),
        many => format!("{} {several}", number(many)),
    }
}

/// Bytes.
pub(super) fn bytes(many: u64) -> String {
    count(many, "byte", "bytes")
}

/// A time as people say it.
pub(super) fn time(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => humantime::format_duration(Duration::from_secs(millis / 1000)).to_string(),
    }
}

/// Tokens and their price.
pub(super) fn usage(usage: &Usage) -> String {
    let mut text = format!("{} tokens in", number(usage.input));
    if usage.cached_input > 0 {
        text.push_str(&format!(" ({} cached)", number(usage.cached_input)));
    }
    text.push_str(&format!(", {} out", number(usage.output)));
    if let Some(cost) = usage.cost {
        text.push_str(&format!(", {cost}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spillgate_llm::Dollars;

    use super::*;

    #[test]
    fn figures() {
        let numbers = [0, 999, 1000, 1_234_567].map(number);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
        let times = [0, 999, 1000, 59_999, 60_000, 3_725_000].map(time);
        assert_eq!(
            times,
            ["0 ms", "999 ms", "1.0 s", "59.9 s", "1m", "1h 2m 5s"]
        );
        assert_eq!(bytes(1), "1 byte");
        let used = Usage {
            input: 1000,
            cached_input: 400,
            output: 20,
            cost: Some(Dollars::new(0.5)),
            ..Usage::default()
        };
        assert_eq!(
            usage(&used),
            "1,000 tokens in (400 cached), 20 out, $0.5000"
        );
    }

    #[test]
    fn strangers_texts_are_one_harmless_line() {
        for (text, expected) in [
            ("plain", "plain"),
            (" two\n\n lines\t ", "two lines"),
            ("\u{1b}[31mred\u{7}", "\u{fffd}[31mred\u{fffd}"),
            ("\u{9b}2Jx", "\u{fffd}2Jx"),
            ("a\u{202e}b\u{200b}", "a\u{fffd}b\u{fffd}"),
            ("0123456789ab", "012345678…"),
            ("0123456789", "0123456789"),
        ] {
            assert_eq!(one_line(text, 10), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_control_character_gets_through(text in "(?s).*", most in 1_usize..40) {
            let line = one_line(&text, most);
            prop_assert!(line.chars().count() <= most);
            prop_assert!(!line.chars().any(|c| c.is_control() || is_invisible(c)));
        }
    }
}
