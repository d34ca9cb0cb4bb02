//! Writes the jq filter that returns all records of a table that was cut.
//!
//! The conditions were read from words, so they compare more loosely than jq. The filter has the
//! values that they hold for in this document. If a condition cannot be told exactly, there is none.

use serde_json::Value;
use spillgate_text::push_key;
use spillgate_untrusted::marked;

use super::cell::Cell;
use super::load::{Collection, Record};
use super::moment::{Unit, label};
use super::plan::Plan;
use super::test::{Comparison, Condition, Test};

/// Most bytes of a filter.
const LONGEST: usize = 300;
/// Most values of one condition.
const MOST_VALUES: usize = 6;
/// Most columns that it returns.
const COLUMNS: usize = 3;

/// Returns the filter for the records that meet the conditions of a plan, with some columns.
pub(super) fn filter(
    plan: &Plan,
    collection: &Collection<'_>,
    columns: &[usize],
) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
    if !collection.has_filter || !collection.path.chars().all(is_plain) {
        return None;
    }
    let conditions: Option<Vec<String>> = plan
        .conditions
        .iter()
        .map(|one| written(one, collection))
        .collect();
    let conditions = conditions?.join(" and ");
    let shown = columns
        .iter()
        .filter_map(|&column| path(column, collection));
    let shown: Vec<String> = shown.take(COLUMNS).collect();
    if conditions.is_empty() || shown.is_empty() {
        return None;
    }
    let from = match &*collection.path {
        "" => String::new(),
        path => format!("{path} | "),
    };
    let filter = format!("{from}select({conditions}) | [{}]", shown.join(", "));
    // A character that is shown as a mark would change the filter.
    let is_shown = filter.len() <= LONGEST && marked(&filter) == filter;
    is_shown.then_some(filter)
}

/// Returns the path of a column in a record; `None` if jq would not find the same there.
fn path(column: usize, collection: &Collection<'_>) -> Option<String> {
    let mut path = String::new();
    for key in collection.steps(column)? {
        push_key(&mut path, &Value::from(key).to_string());
    }
    Some(path)
}

/// Returns a condition as jq.
fn written(condition: &Condition, collection: &Collection<'_>) -> Option<String> {
    let path = path(condition.column, collection)?;
    let records = collection.records.iter();
    let cells: Vec<&Cell<'_>> = records
        .filter_map(|record: &Record<'_>| record.get(condition.column))
        .collect();
    let all = |is: fn(&Cell<'_>) -> bool| cells.iter().all(|cell| is(cell));
    let held = match &condition.test {
        Test::Number(comparison, number) if all(is_json_number) => {
            let sign = comparison.sign();
            match comparison {
                // What is missing is less than a number.
                Comparison::AtMost | Comparison::LessThan => {
                    format!("({path} != null and {path} {sign} {number})")
                }
                _ => format!("{path} {sign} {number}"),
            }
        }
        Test::Within(start, end) if all(is_iso) => within(&path, *start, *end),
        Test::Present => {
            format!("({path} | . != null and . != \"\" and . != [] and . != {{}})")
        }
        Test::Number(..) | Test::Within(..) | Test::Version(..) | Test::Column(..) => return None,
        test => {
            let mut values: Vec<String> = Vec::new();
            for cell in cells.iter().filter(|cell| test.holds(cell)) {
                let value = cell.to_json()?;
                if !values.contains(&value) {
                    values.push(value);
                }
                if values.len() > MOST_VALUES {
                    return None;
                }
            }
            match &values[..] {
                [] => return None,
                [one] if condition.is_negated => return Some(format!("{path} != {one}")),
                [one] => format!("{path} == {one}"),
                several => format!("({path} | IN({}))", several.join(", ")),
            }
        }
    };
    Some(match condition.is_negated {
        true => format!("({held} | not)"),
        false => held,
    })
}

/// Returns the condition that a text with a date lies within days.
fn within(path: &str, start: i64, end: i64) -> String {
    let day = |second| label(second, Unit::Day);
    let from = (start > i64::MIN).then(|| format!("{path} >= \"{}\"", day(start)));
    let to = (end < i64::MAX).then(|| format!("{path} < \"{}\"", day(end)));
    let is_there = from.is_none().then(|| format!("{path} != null"));
    let parts: Vec<String> = is_there.into_iter().chain(from).chain(to).collect();
    format!("({})", parts.join(" and "))
}

fn is_json_number(cell: &Cell<'_>) -> bool {
    cell.is_number() && cell.to_json().is_some_and(|text| !text.starts_with('"'))
}

/// Whether a cell is a date, or a time of UTC, that sorts as a text: `2025-03-01T08:00:00Z`.
fn is_iso(cell: &Cell<'_>) -> bool {
    const DAY: usize = 10;
    let Cell::Text(text) = cell else { return false };
    let form = text.as_bytes().iter().take(DAY).enumerate();
    let is_date = text.len() >= DAY
        && form.into_iter().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date && (text.len() == DAY || text.ends_with('Z'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use insta::assert_snapshot;
    use jaq_core::load::{Arena, File, Loader};
    use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
    use jaq_json::{Val, read};
    use serde_json::json;
    use spillgate_artifact::{ContentKind, TokenBudget};
    use spillgate_text::Tokenizer;

    use super::super::load::Document;
    use super::super::plan::plan;
    use super::super::table::{columns, table};
    use super::super::test::selected;
    use super::*;

    /// Returns how many results a filter has for a document.
    fn results(filter: &str, document: &str) -> usize {
        let arena = Arena::default();
        let defs = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs());
        let file = File {
            code: filter,
            path: (),
        };
        let modules = Loader::new(defs).load(&arena, file).unwrap();
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs());
        let filter = Compiler::default()
            .with_funs(funs)
            .compile(modules)
            .unwrap();
        let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
        let value = read::parse_single(document.as_bytes()).unwrap();
        let found = filter.id.run((context, value)).map(unwrap_valr);
        found.inspect(|one| assert!(one.is_ok(), "{one:?}")).count()
    }

    /// Orders, some of which lack a member.
    fn orders(count: i32) -> String {
        let order = |i: i32| {
            let mut order = json!({
                "id": i,
                "state": if i % 3 == 0 { "PAID" } else { "open" },
                "total": f64::from(i) * 1.5,
                "buyer": {"name": format!("B {}", i % 4), "e-mail": format!("b{}@x.example", i % 4)},
                "placed": format!("2025-{:02}-05T10:00:00Z", i % 12 + 1),
                "note": if i % 5 == 0 { json!("a \"gift\"") } else { json!(null) },
                "is_late": i % 2 == 0,
                "tags": ["x"],
            });
            if i % 7 == 0 {
                order.as_object_mut().unwrap().remove("total");
            }
            order
        };
        json!({"orders": (0..count).map(order).collect::<Vec<_>>()}).to_string()
    }

    #[test]
    fn filters_return_the_records_of_their_table() {
        let document = orders(60);
        let questions = [
            "Which orders are paid?",
            "orders that are not paid",
            "orders with a total over 30",
            "orders with a total of at most 30",
            "orders placed in March 2025",
            "orders placed before June 2025",
            "orders with a note",
            "orders without a note",
            "late orders of B 2",
            "orders with e-mail b1@x.example",
            "paid orders with a total below 60",
            "orders with x in tags",
        ];
        let text = Document::of(document.clone().into_bytes(), ContentKind::Json);
        let parsed = text.parse().unwrap();
        let collections = parsed.collections();
        let collection = &collections[0];
        let mut lines = Vec::new();
        for question in questions {
            let plan = plan(question, collection);
            let records = selected(&plan.conditions, collection);
            let shown = columns(&plan, collection, &records);
            let filter = filter(&plan, collection, &shown);
            if let Some(filter) = &filter {
                assert_eq!(results(filter, &document), records.len(), "{filter}");
            }
            lines.push(format!("{question}\n    {}", filter.unwrap_or_default()));
        }
        assert_snapshot!(lines.join("\n"), @r#"
        Which orders are paid?
            .orders[] | select(.state == "PAID") | [.id, .buyer.name]
        orders that are not paid
            .orders[] | select(.state != "PAID") | [.id, .buyer.name, .state]
        orders with a total over 30
            .orders[] | select(.total > 30) | [.id, .buyer.name, .total]
        orders with a total of at most 30
            .orders[] | select((.total != null and .total <= 30)) | [.id, .buyer.name, .total]
        orders placed in March 2025
            .orders[] | select((.placed >= "2025-03-01" and .placed < "2025-04-01")) | [.id, .buyer.name, .placed]
        orders placed before June 2025
            .orders[] | select((.placed != null and .placed < "2025-06-01")) | [.id, .buyer.name, .placed]
        orders with a note
            .orders[] | select((.note | . != null and . != "" and . != [] and . != {})) | [.id, .buyer.name, .note]
        orders without a note
            .orders[] | select(((.note | . != null and . != "" and . != [] and . != {}) | not)) | [.id, .buyer.name]
        late orders of B 2
            .orders[] | select(.buyer.name == "B 2" and .is_late == true) | [.id, .buyer.name, .is_late]
        orders with e-mail b1@x.example
            .orders[] | select(.buyer."e-mail" == "b1@x.example") | [.id, .buyer.name]
        paid orders with a total below 60
            .orders[] | select((.total != null and .total < 60) and .state == "PAID") | [.id, .buyer.name, .total]
        orders with x in tags
        "#);
    }

    #[test]
    fn a_table_that_is_cut_ends_with_its_filter() {
        let document = orders(300);
        let text = Document::of(document.into_bytes(), ContentKind::Json);
        let parsed = text.parse().unwrap();
        let collections = parsed.collections();
        let plan = plan("Which orders are not paid?", &collections[0]);
        let counter = Tokenizer::Heuristic.counter();
        let budget = TokenBudget::new(400);
        let table = table(&plan, &collections[0], budget, &*counter).unwrap();
        assert!(counter.count(&table) <= budget.get());
        let end: Vec<&str> = table.lines().rev().take(2).collect();
        assert_snapshot!(end.join("\n"), @r#"
        All with the jq filter: .orders[] | select(.state != "PAID") | [.id]
        … 22 more
        "#);
    }
}
