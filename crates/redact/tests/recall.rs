//! How many of the planted secrets are hidden, and how many texts without a secret stay whole.
//! The rules are tuned on one half of the cases and judged by the other half.

#![expect(clippy::print_stdout, reason = "the table is for people")]

use std::collections::BTreeMap;

use bytes::Bytes;
use spillgate_redact::{Findings, Rules, find};
use spillgate_testkit::secrets::{Planted, look_alikes, planted};

/// Letters in a row that may stay of a secret: a part of a line's prefix has as many.
const MOST_SHOWN: usize = 8;

fn findings(text: &[u8]) -> Findings {
    let source = Bytes::copy_from_slice(text);
    find(&Rules::builtin(), &source).expect("it is in memory")
}

/// Returns whether nothing of the secret is shown but what a context puts between its lines.
fn is_hidden(case: &Planted) -> bool {
    let found = findings(&case.text);
    let at = |offset: u64| usize::try_from(offset).expect("it is in memory");
    let spans = found.spans().iter().map(|it| at(it.start)..at(it.end));
    let spans: Vec<_> = spans
        .filter(|it| it.start < case.range.end && it.end > case.range.start)
        .collect();
    let most = MOST_SHOWN.min(case.secret.len());
    let shown = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut rest = case.text[case.range.clone()].to_vec();
    for span in &spans {
        let first = span.start.max(case.range.start) - case.range.start;
        let last = span.end.min(case.range.end) - case.range.start;
        rest[first..last].fill(b' ');
    }
    let leaks = |run: &[u8]| {
        let part = String::from_utf8_lossy(run);
        run.len() >= most && (case.is_encoded || case.secret.contains(&*part))
    };
    !spans.is_empty() && !rest.split(|it| !shown(it)).any(leaks)
}

/// Counts of cases, and of those with the right outcome.
#[derive(Default, Clone, Copy)]
struct Share {
    right: u32,
    all: u32,
}

impl Share {
    fn add(&mut self, right: bool) {
        self.right += u32::from(right);
        self.all += 1;
    }

    fn percent(self) -> f64 {
        100.0 * f64::from(self.right) / f64::from(self.all.max(1))
    }
}

/// Prints a line for each kind of the tuned half and one line for the other half, and returns the
/// share of the other half.
fn table(title: &str, cases: impl Iterator<Item = (&'static str, bool, bool)>) -> Share {
    let mut kinds: BTreeMap<&str, Share> = BTreeMap::new();
    let (mut tuned, mut untuned) = (Share::default(), Share::default());
    for (kind, is_tuned, right) in cases {
        match is_tuned {
            true => {
                kinds.entry(kind).or_default().add(right);
                tuned.add(right);
            }
            false => untuned.add(right),
        }
    }
    println!("{title}");
    for (kind, share) in kinds {
        println!("  {:3}/{:3} {kind}", share.right, share.all);
    }
    for (half, share) in [("tuned", tuned), ("untuned", untuned)] {
        println!(
            "  {}/{} {half}: {:.2} %",
            share.right,
            share.all,
            share.percent()
        );
    }
    untuned
}

#[test]
fn planted_secrets_are_hidden() {
    let cases = planted();
    let hidden = cases.iter().map(|it| (it.kind, it.is_tuned, is_hidden(it)));
    let share = table("hidden secrets", hidden);
    assert!(share.all >= 600, "{} cases", share.all);
    assert!(share.percent() >= 95.0, "{:.2} %", share.percent());
}

#[test]
fn texts_without_a_secret_stay_whole() {
    let cases = look_alikes();
    let whole = cases.iter().map(|it| {
        let whole = findings(it.text.as_bytes()).is_empty();
        (it.kind, it.is_tuned, whole)
    });
    let share = table("texts without a secret that stay whole", whole);
    assert!(share.percent() >= 99.0, "{:.2} %", share.percent());
}
