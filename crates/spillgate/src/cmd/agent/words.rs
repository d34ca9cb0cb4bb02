//! Formats figures and untrusted texts for display to a person.

use std::time::Duration;

use spillgate_llm::Usage;
pub(super) use spillgate_untrusted::line as one_line;

/// Formats 1234567 as 1,234,567.
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

/// Formats a number with its unit in singular or plural.
pub(super) fn count(many: u64, one: &str, several: &str) -> String {
    match many {
        1 => format!("1 {one}"),
        many => format!("{} {several}", number(many)),
    }
}

/// Formats a number of bytes.
pub(super) fn bytes(many: u64) -> String {
    count(many, "byte", "bytes")
}

/// Formats milliseconds in a readable unit.
pub(super) fn time(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => humantime::format_duration(Duration::from_secs(millis / 1000)).to_string(),
    }
}

/// Formats tokens and their cost.
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
}
