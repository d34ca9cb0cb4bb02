//! Tests how particular outputs are divided into chunks.

use super::*;

/// For each chunk, returns the first line that does not repeat the previous chunk.
fn begins(artifact: &Artifact, want: &Want) -> Vec<u64> {
    let plan = checked(artifact, want);
    plan.chunks.iter().map(|chunk| chunk.own_first).collect()
}

#[test]
fn nothing_has_no_chunk() {
    let artifact = plain("", ContentKind::Text);
    assert_eq!(begins(&artifact, &want(100)), [0; 0]);
    assert_eq!(estimate(&artifact, &*counter()).unwrap(), 0);
}

#[test]
fn what_fits_is_one_chunk() {
    let artifact = plain("one\ntwo\n", ContentKind::Text);
    for tokens in [100, u64::MAX] {
        assert_eq!(begins(&artifact, &want(tokens)), [1]);
    }
}

#[test]
fn chunks_are_of_one_size_and_their_count_is_least() {
    let counter = counter();
    let log = plain(&spillgate_testkit::log(3000), ContentKind::Log);
    let json = laid_out(&spillgate_testkit::records(2000));
    for (artifact, overlap) in [(&log, 10), (&log, 0), (&json, 0)] {
        let total = estimate(artifact, &*counter).unwrap();
        for tokens in [1000, 8000, 30_000, total - 1000] {
            let want = Want {
                overlap_percent: overlap,
                ..want(tokens)
            };
            let plan = checked(artifact, &want);
            let sizes: Vec<u64> = plan
                .chunks
                .iter()
                .map(|chunk| counter.count(&plan.render(artifact, chunk).unwrap()))
                .collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(least * 100 >= most * 80, "{tokens}: {sizes:?}");
            let own = tokens * (100 - overlap) / 100 * 90 / 100;
            assert!(sizes.len() as u64 <= total / own + 2, "{tokens}: {sizes:?}");
        }
    }
}

#[test]
fn cuts_fall_where_something_begins() {
    let trace = (0..200).fold(String::new(), |text, i| {
        let head = format!("{text}2026-11-21T10:{i:02}:00Z ERROR request {i} failed\n");
        (0..4 + i % 3).fold(head, |text, at| {
            format!("{text}\tat module{at}.function(File.java:{at})\n")
        })
    });
    let prose = (0..700).fold(String::new(), |text, i| {
        format!(
            "{text}A sentence that is number {i} of them.\n{}",
            if i % 4 == 3 { "\n" } else { "" }
        )
    });
    let code = (0..300).fold(String::new(), |text, i| {
        format!("{text}fn f{i}() {{\n    let x = {i};\n    g(x);\n}}\n\n")
    });
    let cases = [
        (ContentKind::Log, trace, "2026"),
        (ContentKind::Text, prose, "A sentence"),
        (ContentKind::Code, code, "fn "),
    ];
    for (kind, text, start) in cases {
        let lines: Vec<&str> = text.lines().collect();
        let artifact = plain(&text, kind);
        let found = begins(
            &artifact,
            &Want {
                overlap_percent: 0,
                ..want(2000)
            },
        );
        assert!(found.len() > 2);
        for first in found.into_iter().skip(1) {
            let at = usize::try_from(first).unwrap() - 1;
            assert!(
                lines[at].starts_with(start),
                "{kind} {first}: {}",
                lines[at]
            );
            assert!(
                kind == ContentKind::Log || lines[at - 1].is_empty(),
                "{kind} {first}"
            );
        }
    }
}

#[test]
fn a_record_that_fits_is_not_split() {
    let words = |n: usize| "word ".repeat(n);
    for sizes in [
        vec![300; 40],
        vec![90, 800, 90, 850, 60, 60, 820, 500, 480, 30, 870],
    ] {
        let records: Vec<Value> = sizes.iter()
            .map(|size| json!({"id": size, "text": words(size / 2), "more": [words(size / 2), {"x": []}]}))
            .collect();
        let artifact = laid_out(&json!({"meta": words(20), "items": records}).to_string());
        let plan = checked(&artifact, &want(1000));
        assert!(plan.chunks.len() > 4);
        let index = |chunk: &Chunk| {
            let index = chunk.begins.as_deref()?.strip_prefix(".items[")?;
            index.strip_suffix(']')?.parse::<u64>().ok()
        };
        for pair in plan.chunks[1..].windows(2) {
            // Each chunk begins with a record and contains all records up to the first record of
            // the next chunk.
            let (from, to) = (index(&pair[0]).unwrap(), index(&pair[1]).unwrap());
            let path = match to - from {
                1 => format!(".items[{from}]"),
                _ => format!(".items[{from}:{to}]"),
            };
            assert_eq!(pair[0].path, Some(path));
        }
    }
}

#[test]
fn a_row_of_a_table_stays_whole_and_a_lost_quote_does_not_swallow_the_rest() {
    let rows = (0..200).fold("id,note\n".to_owned(), |text, i| {
        format!("{text}{i},\"a\nb, {i}\"\n")
    });
    let artifact = plain(&rows, ContentKind::Csv);
    let found = begins(&artifact, &want(120));
    assert!(found.len() > 5);
    assert!(
        found.iter().skip(1).all(|first| first % 2 == 0),
        "{found:?}"
    );
    let lost = format!(
        "id,note\n1,\"x\n{}",
        "2,y and some more words\n".repeat(4000)
    );
    let found = begins(&plain(&lost, ContentKind::Csv), &want(6000));
    assert!(found.len() > 4, "{found:?}");
}

#[test]
fn samples_tell_nearly_what_counting_does() {
    let counter = counter();
    let log = plain(&spillgate_testkit::log(9000), ContentKind::Log);
    let json = laid_out(&spillgate_testkit::records(9000));
    for artifact in [&log, &json] {
        let exact = Costs::of(artifact, GRAIN, &*counter).unwrap();
        let sampled = Costs::up_to(artifact, GRAIN, &*counter, 0).unwrap();
        assert!(exact.is_exact && !sampled.is_exact);
        let off = sampled.total().abs_diff(exact.total()) * 100 / exact.total();
        assert!(off <= 3, "{} {}", sampled.total(), exact.total());
        let plan = plan_with(artifact, &want(8000), &sampled).unwrap();
        check_cover(artifact, &plan.chunks);
        for chunk in &plan.chunks {
            assert!(!counter.exceeds(&plan.render(artifact, chunk).unwrap(), 8000));
        }
    }
}

#[test]
fn paths_of_a_minified_document_of_megabytes() {
    let json = spillgate_testkit::records(55_000);
    assert!(json.len() > 5_000_000);
    let value: Value = serde_json::from_str(&json).unwrap();
    let artifact = laid_out(&json);
    let plan = plan(&artifact, &want(30_000), &*counter()).unwrap();
    check_cover(&artifact, &plan.chunks);
    assert!(plan.is_too_many() || plan.chunks.len() < 64);
    let mut next = 0;
    for chunk in &plan.chunks {
        let shown = plan.render(&artifact, chunk).unwrap();
        if chunk.own_first == 1 {
            next = shown.matches("{\"id\"").count();
            continue;
        }
        assert_eq!(chunk.begins, Some(format!(".items[{next}]")));
        let row = shown.lines().next().unwrap().split_once('|').unwrap().1;
        let mut records = serde_json::Deserializer::from_str(row).into_iter::<Value>();
        assert_eq!(records.next().unwrap().unwrap(), value["items"][next]);
        let after = next + shown.matches("\"id\":").count();
        assert_eq!(chunk.path, Some(format!(".items[{next}:{after}]")));
        next = after;
    }
    assert_eq!(next, 55_000);
}

#[test]
fn promising_chunks_come_first() {
    let log = plain(&spillgate_testkit::log(3000), ContentKind::Log);
    let counter = counter();
    let plan = plan(&log, &want(8000), &*counter).unwrap();
    let of_line = |line| {
        plan.chunks
            .iter()
            .position(|chunk| chunk.lines.last >= line)
            .unwrap()
    };
    let order = plan
        .order(&log, "which code has the disk quota error?", &*counter)
        .unwrap();
    assert_eq!(order[0], of_line(501));
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let all: Vec<usize> = (0..plan.chunks.len()).collect();
    assert_eq!(sorted, all);
    for question in ["", "?"] {
        assert_eq!(plan.order(&log, question, &*counter).unwrap(), all);
    }
}
