//! The metrics of a gateway, read from the text in which a monitoring system gets them.

/// A count of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: u64,
}

/// All counts. Sums of times, which are no whole numbers, are left out.
#[derive(Debug, Default)]
pub(super) struct Samples(Vec<Sample>);

impl Samples {
    /// Reads the text format of OpenMetrics. Lines that are none are left out.
    pub(super) fn parsed(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.filter_map(sample).collect())
    }

    fn of<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Sample> {
        let has = |sample: &Sample, (key, value): &(&str, &str)| {
            sample.label(key).is_some_and(|own| own == *value)
        };
        let named = self.0.iter().filter(move |sample| sample.name == name);
        named.filter(move |sample| labels.iter().all(|label| has(sample, label)))
    }

    /// Returns the sum of the values with this name and these labels.
    pub(super) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        self.of(name, labels).map(|sample| sample.value).sum()
    }

    /// Returns the time in seconds below which a share of the times of a histogram are, estimated
    /// within its bucket; `None` if there are no times. The last bucket has no end, so of the times in
    /// it only its beginning is known.
    pub(super) fn quantile(&self, name: &str, labels: &[(&str, &str)], share: f64) -> Option<f64> {
        let name = format!("{name}_bucket");
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        for sample in self.of(&name, labels) {
            let end = sample.label("le")?;
            let end = if end == "+Inf" {
                f64::INFINITY
            } else {
                end.parse().ok()?
            };
            match buckets
                .iter_mut()
                .find(|(known, _)| known.total_cmp(&end).is_eq())
            {
                Some((_, count)) => *count += sample.value,
                None => buckets.push((end, sample.value)),
            }
        }
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let wanted = buckets.last().filter(|(_, all)| *all > 0)?.1 as f64 * share;
        let (mut begin, mut below) = (0.0, 0.0);
        for (end, count) in buckets {
            let count = count as f64;
            if count >= wanted && count > below {
                return Some(match end.is_finite() {
                    true => begin + (end - begin) * (wanted - below) / (count - below),
                    false => begin,
                });
            }
            (begin, below) = (end, count);
        }
        None
    }
}

impl Sample {
    fn label(&self, key: &str) -> Option<&str> {
        let label = self.labels.iter().find(|(name, _)| name == key);
        label.map(|(_, value)| value.as_str())
    }
}

/// Reads a line: `name{key="value",…} 1.5`.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (key, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((key.to_owned(), value));
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.split_whitespace().next()?.parse().ok()?;
    let name = name.to_owned();
    Some(Sample {
        name,
        labels,
        value,
    })
}

/// Reads a value up to its closing quote, and returns what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# TYPE spillgate_requests counter
spillgate_requests_total{server=\"a \\\"b\\\"\\n\",method=\"tools/call\",outcome=\"ok\"} 7
spillgate_requests_total{server=\"a \\\"b\\\"\\n\",method=\"tools/call\",outcome=\"error\"} 1
spillgate_sessions 2
spillgate_upstream_seconds_sum{server=\"s\"} 8.5
spillgate_upstream_seconds_bucket{le=\"0.1\",server=\"s\"} 4
spillgate_upstream_seconds_bucket{le=\"0.5\",server=\"s\"} 8
spillgate_upstream_seconds_bucket{le=\"+Inf\",server=\"s\"} 10
broken{server=\"
no_value
# EOF
";

    #[test]
    fn values_are_read_and_added_up() {
        let samples = Samples::parsed(TEXT);
        let server = ("server", "a \"b\"\n");
        assert_eq!(samples.sum("spillgate_requests_total", &[server]), 8);
        let ok = [("outcome", "ok"), server];
        assert_eq!(samples.sum("spillgate_requests_total", &ok), 7);
        assert_eq!(samples.sum("spillgate_sessions", &[]), 2);
        assert_eq!(samples.sum("spillgate_nothing", &[]), 0);
    }

    #[test]
    fn quantiles_are_estimated_within_a_bucket() {
        let samples = Samples::parsed(TEXT);
        let of = |share| samples.quantile("spillgate_upstream_seconds", &[("server", "s")], share);
        let close = |one: Option<f64>, other: f64| (one.unwrap() - other).abs() < 1e-9;
        assert!(close(of(0.2), 0.05));
        assert!(close(of(0.5), 0.2));
        assert!(close(of(0.8), 0.5));
        assert!(close(of(0.95), 0.5));
        let none = samples.quantile("spillgate_upstream_seconds", &[("server", "t")], 0.5);
        assert_eq!(none, None);
    }
}
