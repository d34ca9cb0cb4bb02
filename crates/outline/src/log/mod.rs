//! Outlines a log by its levels, times and templates.

mod level;
mod mask;
mod mine;
mod span;

use std::io;
use std::sync::LazyLock;

use regex::bytes::Regex;
use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped, lines};
use crate::{EntryKind, Lead, OutlineEntry, note};
pub use mask::signature;
use mine::{Cluster, Miner};
use span::Span;

/// Maximum number of templates that are shown, whatever the budget.
const TEMPLATES: usize = 24;
/// Number of the most frequent templates, and of templates that report errors, that are selected
/// first.
const FIRST: usize = 4;
/// Bytes at each end of a log that are searched for the first and the last time.
const ENDS: u64 = 16 << 10;
/// Bytes of a line in which its time is looked for.
const HEAD: usize = 400;

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = concat!(
        r"(?-u)\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z| ?[+-]\d\d:?\d\d)?",
        r"|\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d( [+-]\d{4})?",
        r"|[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d",
        r"|\d\d:\d\d:\d\d([.,]\d{1,9})?",
    );
    Regex::new(pattern).expect("the pattern is valid")
});

/// Returns levels with counts and the time span, then templates with counts and the line of their
/// first occurrence.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mined = plan.look(view.source(), |text, start| {
        let (mut miner, mut span) = (Miner::default(), Span::default());
        for (at, line) in lines(text) {
            miner.line(line, start + at as u64);
            span.line(line, start + at as u64);
        }
        (miner, span)
    })?;
    let (mut all, mut span) = (Miner::default(), Span::default());
    for (miner, part) in mined {
        all.absorb(miner);
        span.absorb(&part);
    }
    let mut outline = Vec::new();
    let levels = level::NAMES.iter().zip(all.levels);
    let levels: Vec<String> = levels
        .filter(|&(_, count)| count > 0)
        .map(|(name, count)| format!("{name} {}", plan.scaled(count)))
        .collect();
    if !levels.is_empty() {
        let but = match all.unmet {
            0 => String::new(),
            n => format!(" (of all but {} lines)", plan.scaled(n)),
        };
        let note = note(format!("levels: {}{but}", levels.join(", ")));
        let counts = level::NAMES.iter().zip(all.levels);
        // The most severe level that fewer than a quarter of the lines have.
        let mut rare =
            counts.filter(|&(_, count)| count > 0 && count * 4 < all.levels.iter().sum());
        let lead = rare
            .next()
            .map(|(name, _)| Lead::Grep(format!(r"\b{name}")));
        outline.push(OutlineEntry { lead, ..note });
    }
    if let Some((first, last)) = times(view, &span)? {
        outline.push(note(format!("from {first} to {last}")));
    }
    let total = all.clusters.len();
    let shown = telling(all.clusters);
    if total > shown.len() || all.others > 0 {
        let others = match all.others {
            0 => String::new(),
            n => format!("; {} more lines follow none", plan.scaled(n)),
        };
        outline.push(note(format!(
            "{}{others}",
            counted(&grouped(total as u64), "template")
        )));
    }
    for (rank, cluster) in shown {
        let line = view.line_of_offset(cluster.first)?;
        let (count, text) = (plan.scaled(cluster.count), cluster.template());
        let text = format!("{count}× (line {line}) {text}");
        let entry = OutlineEntry::new(rank, 0, EntryKind::Place, text);
        outline.push(OutlineEntry {
            only_line: (cluster.count == 1).then_some(line),
            ..entry
        });
    }
    Ok(outline)
}

/// Selects the templates worth showing and gives each a rank. In the order of ranks, the most
/// frequent templates and those that report errors alternate at first; then come the rarest ones.
/// Returns the templates with the most frequent first.
fn telling(mut clusters: Vec<Cluster>) -> Vec<(usize, Cluster)> {
    clusters.sort_by(|a, b| b.count.cmp(&a.count).then(a.first.cmp(&b.first)));
    let trouble = |cluster: &Cluster| level::is_trouble(&cluster.tokens, &cluster.template());
    let troubles: Vec<usize> = (0..clusters.len())
        .filter(|&at| trouble(&clusters[at]))
        .collect();
    let rare = troubles.iter().rev().take(FIRST / 2);
    let mut order: Vec<usize> = Vec::new();
    for at in 0..FIRST {
        order.extend((at < clusters.len()).then_some(at));
        order.extend(troubles.get(at));
    }
    order.extend(rare);
    order.extend((0..clusters.len()).rev().take(FIRST / 2));
    order.extend(troubles.iter().take(FIRST * 2));
    order.extend(0..clusters.len());
    let mut ranks = vec![None; clusters.len()];
    let mut rank = 1;
    for at in order {
        if ranks[at].is_none() && rank <= TEMPLATES {
            ranks[at] = Some(rank);
            rank += 1;
        }
    }
    let ranked = ranks.into_iter().zip(clusters);
    ranked
        .filter_map(|(rank, cluster)| Some((rank?, cluster)))
        .collect()
}

/// Returns the least and the greatest time in the log, as they are written there. They can be told only
/// from times with a year and in one time zone; of others, the first and the last one are returned.
fn times(view: &View, span: &Span) -> io::Result<Option<(String, String)>> {
    let head = view.source().bytes(0, ENDS)?;
    let tail = view
        .source()
        .bytes(view.bytes().saturating_sub(ENDS), view.bytes())?;
    let first = lines(&head).find_map(|(_, line)| time_in(line));
    let last = lines(&tail).filter_map(|(_, line)| time_in(line)).last();
    let Some((first, last)) = first.zip(last) else {
        return Ok(None);
    };
    let mut all = vec![first.clone(), last.clone()];
    for offset in span.offsets().into_iter().flatten() {
        let line = view.source().bytes(offset, offset + HEAD as u64)?;
        all.extend(time_in(&line));
    }
    let is_same_zone = all.iter().all(|one| zone(one) == zone(&first));
    let keys: Option<Vec<_>> = all.iter().map(|one| span::key(one.as_bytes())).collect();
    let Some(keys) = keys.filter(|_| is_same_zone) else {
        return Ok(Some((first, last)));
    };
    let by_key = || keys.iter().zip(&all);
    let least = by_key().min_by_key(|(key, _)| *key);
    let greatest = by_key().max_by_key(|(key, _)| *key);
    let text = |found: Option<(_, &String)>| found.map(|(_, text)| text.clone());
    Ok(text(least).zip(text(greatest)))
}

/// Returns where in a line the first time is.
fn place_of_time(line: &[u8]) -> Option<usize> {
    let found = TIME.find(&line[..line.len().min(HEAD)]);
    found.map(|found| found.start())
}

fn time_in(line: &[u8]) -> Option<String> {
    let found = TIME.find(line)?;
    Some(String::from_utf8_lossy(found.as_bytes()).into_owned())
}

/// Returns what stands after the last digit of a time but for its zone: nothing, `Z` or `+01:00`.
fn zone(time: &str) -> &str {
    let clock = time.find(':').unwrap_or(0);
    let start = time[clock..].find(['Z', '+', '-', ' ']);
    start.map_or("", |start| &time[clock + start..])
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::{texts, view_of};

    #[test]
    fn levels_times_and_templates() {
        let text: String = (0..30)
            .map(|i| match i {
                17 => "2026-11-21T10:00:17Z ERROR disk 0x7f full\n".to_owned(),
                _ => format!("2026-11-21T10:00:{i:02}Z INFO batch {i} ok\n"),
            })
            .collect();
        let view = view_of(&text);
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        assert_snapshot!(texts(&outline(&view, &plan).unwrap()), @"
        levels: ERROR 1, INFO 29
        from 2026-11-21T10:00:00Z to 2026-11-21T10:00:29Z
        29× (line 1) <*> INFO batch <*> ok
        1× (line 18) <*> ERROR disk <*> full
        ");
    }

    #[test]
    fn the_span_is_that_of_the_times_and_not_of_the_lines() {
        let span = |text: &str| {
            let view = view_of(text);
            let plan = SamplePlan::spread(view.source(), 0).unwrap();
            let told = texts(&outline(&view, &plan).unwrap());
            let line = told.lines().find(|line| line.starts_with("from "));
            line.unwrap_or_default().to_owned()
        };
        // The newest line first, and one writer behind the others.
        assert_snapshot!(span("2026-11-21 10:00:09,5 INFO c\n2026-11-21 10:00:01,2 INFO b\n2026-11-21 10:00:04,1 INFO a\n"), @"from 2026-11-21 10:00:01,2 to 2026-11-21 10:00:09,5");
        // Times in several zones, and times without a year, are not compared.
        assert_snapshot!(span("2026-11-21T10:00:00Z INFO a\n2026-11-21T09:30:00-02:00 INFO b\n"), @"from 2026-11-21T10:00:00Z to 2026-11-21T09:30:00-02:00");
        assert_snapshot!(span("23:59:58 INFO a\n23:59:59 INFO b\n00:00:01 INFO c\n"), @"from 23:59:58 to 00:00:01");
        assert_snapshot!(span("Dec 31 23:59:59 host a: b\nJan  1 00:00:00 host a: b\n"), @"from Dec 31 23:59:59 to Jan  1 00:00:00");
    }

    #[test]
    fn one_thread_finds_what_two_find() {
        let text: String = (0..2000)
            .map(|i| {
                format!(
                    "10:00:00 INFO {} took {i} ms, {}\n",
                    "word".repeat(i % 5 + 1),
                    i % 7
                )
            })
            .collect();
        let view = view_of(&text);
        let mut plan = SamplePlan::cut(view.source(), 0, 1000, u64::MAX).unwrap();
        let two = outline(&view, &plan).unwrap();
        plan.threads = 1;
        assert_eq!(outline(&view, &plan).unwrap(), two);
        plan = SamplePlan::spread(view.source(), 0).unwrap();
        assert_eq!(outline(&view, &plan).unwrap(), two);
    }
}
