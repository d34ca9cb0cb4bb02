//! Tests pages in which equal results are folded into one line, and the texts about missing keys.

use proptest::prelude::*;
use spillgate_artifact::TokenBudget;
use spillgate_text::Tokenizer;

use super::*;

/// Returns the page of these results, each with the number of times that it occurs in a row.
fn page_of(results: &[(&str, u64)], start: u64, tokens: u64) -> QueryPage {
    let mut output = ChildOutput::default();
    let mut skipped = start;
    for &(text, times) in results {
        let left = times.saturating_sub(skipped);
        skipped = skipped.saturating_sub(times);
        if left > 0 {
            output.take(Message::Result {
                text: text.to_owned(),
                from: 0,
                whole: true,
            });
            output.take(Message::Again(left - 1));
        }
    }
    output.take(Message::End(Box::new(Summary {
        results: results.iter().map(|(_, times)| times).sum(),
        complete: true,
        documents: 1,
        ..Summary::default()
    })));
    let query = Query {
        start,
        ..Query::new(".", TokenBudget::new(tokens))
    };
    page(
        &output,
        &query,
        Format::Json,
        &*Tokenizer::Heuristic.counter(),
    )
}

#[test]
fn equal_results_in_a_row_become_one_line() {
    let page = page_of(&[("null", 5000), ("1", 2), ("\"a\"", 4)], 0, 100);
    insta::assert_snapshot!(page.text, @r#"
    5,000 × null
    1
    1
    4 × "a"
    "#);
    assert_eq!(
        (page.results, page.total, page.next),
        (5006, Some(5006), None)
    );
    insta::assert_snapshot!(page.notes.join("; "), @"`N × RESULT` stands for N equal results in a row");
    // If not even one result of a run fits, the page is cut within the first result.
    let long = format!("\"{}\"", "word ".repeat(200));
    let page = page_of(&[(&long, 50)], 0, 20);
    assert!(long.starts_with(&page.text), "{}", page.text);
    let byte = page.text.len() as u64;
    assert_eq!(
        (page.results, page.next),
        (1, Some(QueryNext { start: 0, byte }))
    );
}

#[test]
fn a_missing_key_names_the_one_that_was_meant() {
    let missing = |key: &str, near: &[&str], kind: &str, length, more| {
        let missing = MissingPath {
            found: ".items".to_owned(),
            kind: kind.to_owned(),
            key: key.to_owned(),
            near: near.iter().map(|key| (*key).to_owned()).collect(),
            more,
            length,
        };
        missing.to_string()
    };
    let all = [
        missing(".nmae", &["name", "id"], "object", None, 0),
        missing(".cost_total", &["Cost Total", "id"], "object", None, 1200),
        missing(".\"total price\"", &["totalPrice"], "object", None, 0),
        missing(".colour", &["name", "id"], "object", None, 0),
        missing(".name", &[], "array", Some(3000), 0),
        missing(".content", &["order", "city"], "array", Some(3000), 1),
        missing("[7]", &[], "array", Some(1), 0),
        missing(".name", &[], "string", None, 0),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    .items has no .nmae; did you mean .name? It has "name", "id"
    .items has no .cost_total; did you mean ."Cost Total"? It has "Cost Total", "id" and 1,200 more
    .items has no ."total price"; did you mean .totalPrice? It has "totalPrice"
    .items has no .colour; it has "name", "id"
    .items has no .name; it is an array of 3000 elements: write .items[].name
    .items has no .content; it is an array of 3000 elements, which have "order", "city" and 1 more
    .items has no [7]; it is an array of 1 element
    .items has no .name; it is a string
    "#);
}

proptest! {
    /// Pages joined together contain every result, however they are folded and cut.
    #[test]
    fn folded_pages_contain_every_result(
        runs in proptest::collection::vec((0..3_usize, 1..30_u64), 1..8),
        tokens in 2..40_u64,
    ) {
        let texts = ["null", "\"a b c d e f g h\"", "12345"];
        let mut runs: Vec<_> = runs.iter().map(|&(at, times)| (texts[at], times)).collect();
        runs.dedup_by_key(|run| run.0);
        let mut start = 0;
        let mut unfolded = Vec::new();
        loop {
            let page = page_of(&runs, start, tokens);
            let mut results = 0;
            for line in page.text.lines() {
                let (times, text) = line.split_once(" × ").unwrap_or(("1", line));
                let times: u64 = times.parse().unwrap();
                results += times;
                unfolded.extend(std::iter::repeat_n(text.to_owned(), usize::try_from(times).unwrap()));
            }
            prop_assert_eq!(results, page.results);
            match page.next {
                // This test does not continue a result that was cut.
                Some(next) if next.byte > 0 => return Ok(()),
                Some(next) => {
                    prop_assert_eq!(next.start, start + results);
                    start = next.start;
                }
                None => break,
            }
        }
        let want: Vec<_> = runs
            .iter()
            .flat_map(|(text, times)| std::iter::repeat_n((*text).to_owned(), usize::try_from(*times).unwrap()))
            .collect();
        prop_assert_eq!(unfolded, want);
    }
}
