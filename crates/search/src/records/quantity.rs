//! Numbers with a unit: `12 MB`, `3m20s`, `02:15:00`, `2.5 kg`.

use std::sync::LazyLock;

use regex::Regex;

/// Longest text that is read as a number with a unit.
const LONGEST: usize = 32;

/// A number with the unit behind it.
static ONE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([-+]?\d[\d,]*(?:\.\d+)?)\s?([A-Za-zµ°]{1,12})$")
        .expect("invariant: the pattern is valid")
});
/// Several numbers with units of time: `1h 3m20s`.
static SPANS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\d+(?:\.\d+)?\s?[A-Za-zµ]{1,7}\s?){2,6}$")
        .expect("invariant: the pattern is valid")
});
static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(\d+(?:\.\d+)?)\s?([A-Za-zµ]{1,7})").expect("invariant: the pattern is valid")
});
/// Hours, minutes and seconds: `02:15:00.5`.
static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(\d+)[ d-]+)?(\d{1,3}):([0-5]\d):([0-5]\d(?:\.\d+)?)$")
        .expect("invariant: the pattern is valid")
});

/// Returns the number that a text with a unit is: bytes of a size, seconds of a time, otherwise
/// the number itself. `None` if the unit is not known.
pub(super) fn quantity(text: &str) -> Option<f64> {
    if text.len() > LONGEST || !text.starts_with(|c: char| c.is_ascii_digit() || "-+".contains(c)) {
        return None;
    }
    // A date has no unit, which is cheap to see.
    let is_clock = text.contains(':');
    if !is_clock && (text.ends_with(|c: char| c.is_ascii_digit()) || text[1..].contains('-')) {
        return None;
    }
    if !is_clock && let Some(found) = ONE.captures(text) {
        let number: f64 = found[1].replace(',', "").parse().ok()?;
        return Some(number * scale(&found[2])?);
    }
    if is_clock && let Some(found) = CLOCK.captures(text) {
        let part = |at: usize| {
            found
                .get(at)
                .map_or(Some(0.0), |part| part.as_str().parse().ok())
        };
        let (days, hours): (f64, f64) = (part(1)?, part(2)?);
        return Some(days * 86_400.0 + hours * 3600.0 + part(3)? * 60.0 + part(4)?);
    }
    if is_clock || !SPANS.is_match(text) {
        return None;
    }
    let parts = SPAN.captures_iter(text).map(|part| {
        let number: f64 = part[1].parse().ok()?;
        Some(number * seconds(&part[2])?)
    });
    parts.sum()
}

/// Returns how many bytes or seconds a unit is, 1 for other known units.
pub(super) fn scale(unit: &str) -> Option<f64> {
    const OTHERS: &str = "kg g mg lb lbs oz km m cm mm mi ft in l ml kw kwh w v a hz mhz ghz c f °c °f k usd eur gbp chf jpy pct percent px pt fps rpm mph kmh x times";
    bytes(unit).or_else(|| seconds(unit)).or_else(|| {
        let lower = unit.to_lowercase();
        OTHERS.split(' ').any(|one| one == lower).then_some(1.0)
    })
}

/// Returns how many bytes a unit of sizes is. `K`, `M` and `G` are sizes as `du -h` writes them.
pub(super) fn bytes(unit: &str) -> Option<f64> {
    const THOUSAND: f64 = 1000.0;
    const KIBI: f64 = 1024.0;
    let power = |exponent: i32, base: f64| Some(base.powi(exponent));
    match unit {
        "K" => return power(1, KIBI),
        "M" => return power(2, KIBI),
        "G" => return power(3, KIBI),
        "T" => return power(4, KIBI),
        _ => {}
    }
    match &*unit.to_lowercase() {
        "b" | "byte" | "bytes" => Some(1.0),
        "kb" | "kilobyte" | "kilobytes" => power(1, THOUSAND),
        "mb" | "megabyte" | "megabytes" => power(2, THOUSAND),
        "gb" | "gigabyte" | "gigabytes" => power(3, THOUSAND),
        "tb" | "terabytes" => power(4, THOUSAND),
        "kib" | "ki" => power(1, KIBI),
        "mib" | "mi" => power(2, KIBI),
        "gib" | "gi" => power(3, KIBI),
        "tib" | "ti" => power(4, KIBI),
        _ => None,
    }
}

/// Returns how many seconds a unit of time is.
pub(super) fn seconds(unit: &str) -> Option<f64> {
    match &*unit.to_lowercase() {
        "ns" => Some(1e-9),
        "us" | "µs" => Some(1e-6),
        "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600.0),
        "d" | "day" | "days" => Some(86_400.0),
        "w" | "week" | "weeks" => Some(604_800.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units() {
        let cases = [
            ("12 MB", Some(12e6)),
            ("12.5MB", Some(12.5e6)),
            ("1,024 KiB", Some(1_048_576.0)),
            ("4.0K", Some(4096.0)),
            ("2Gi", Some(2_147_483_648.0)),
            ("3m20s", Some(200.0)),
            ("1h 2m 3s", Some(3723.0)),
            ("2h", Some(7200.0)),
            ("250ms", Some(0.25)),
            ("02:15:00", Some(8100.0)),
            ("1 day", Some(86_400.0)),
            ("2.5 kg", Some(2.5)),
            ("-3 °C", Some(-3.0)),
            ("5 apples", None),
            ("12 Main Street", None),
            ("2024-01-01", None),
            ("1.2.3", None),
            ("i5", None),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(quantity(text), want, "{text}");
        }
    }
}
