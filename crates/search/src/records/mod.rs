//! Answers questions that name values or columns from the records of a document.
//!
//! "Which products are out of stock", "how many orders of user X", "the three most expensive": the
//! question is read as conditions, an order and a count ([`ask`]) over a list of objects, the rows
//! of a table or the members of a map ([`load`]). The answer is a table of all records that match,
//! with their number.

mod ask;
mod load;

use std::cmp::Ordering;
use std::io;

use rustc_hash::{FxHashMap, FxHashSet};
use spillgate_artifact::TokenBudget;
use spillgate_lookup::Artifact;
use spillgate_text::{TokenCounter, clip};
use spillgate_untrusted::marked;

use ask::{Plan, Test, plan, selected};
use load::{Cell, Collection, Record, collections};

/// Records that are shown beyond those that an order asks for: equal ones may follow.
const MORE: usize = 4;
/// Most characters of a cell.
const CELL_CHARS: usize = 80;
/// The same if there are few records.
const LONG_CELL_CHARS: usize = 240;
const FEW: usize = 3;
/// Fewest lines of a table: the names and one record.
const LEAST: usize = 2;
/// Most tokens of a single record that is shown whole.
const MOST_OF_ONE: u64 = 400;
/// A page of fewer tokens is small.
const SMALL_PAGE: u64 = 400;
/// Most columns of the table.
const COLUMNS: usize = 6;
/// Most records that a question without an order or a count may select: more is a common word.
const MOST_SELECTED: usize = 2000;

/// Last parts of the names of columns that tell which record it is.
const IDENTITY: [&str; 7] = ["id", "name", "title", "key", "code", "path", "version"];
/// The number of `path` there.
const PATH: usize = 5;
/// Most columns that tell which record it is.
const IDENTITIES: usize = 3;

/// Returns a table of the records that a question asks for; `None` if it asks for none.
pub(crate) fn answer(
    artifact: &Artifact,
    question: &str,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> io::Result<Option<String>> {
    let collections = collections(artifact)?;
    let plans = collections.iter().map(|one| (plan(question, one), one));
    let best = plans
        .filter(|(plan, one)| is_answerable(plan, one))
        .max_by_key(|(plan, one)| {
            let fit = plan.fit() + usize::from(one.has_names());
            (fit, one.columns.len() > 1, one.records.len())
        });
    Ok(best.and_then(|(plan, collection)| table(&plan, collection, budget, counter)))
}

fn is_answerable(plan: &Plan, collection: &Collection) -> bool {
    if plan.conditions.is_empty() {
        return plan.order.is_some() || plan.is_count;
    }
    let count = selected(plan, collection).len();
    count > 0 && (plan.is_count || plan.order.is_some() || count <= MOST_SELECTED)
}

fn table(
    plan: &Plan,
    collection: &Collection,
    budget: TokenBudget,
    counter: &dyn TokenCounter,
) -> Option<String> {
    let mut records = selected(plan, collection);
    let count = records.len();
    let all = collection.records.len();
    let name = |column: usize| clip(&marked(&collection.columns[column]), CELL_CHARS);
    let mut head = match &*collection.path {
        "" => format!("{count} of {all} records"),
        path => format!("{count} of {all} in {}", clip(&marked(path), CELL_CHARS)),
    };
    let conditions: Vec<String> = plan
        .conditions
        .iter()
        .map(|one| format!("{} {}", name(one.column), said(&one.test)))
        .collect();
    if !conditions.is_empty() {
        head.push_str(&format!(" have {}", conditions.join(", ")));
    }
    let mut lines = Vec::new();
    if let Some(order) = &plan.order {
        if order.by_frequency {
            let frequent = frequencies(&records, order.column);
            head.push_str(&format!("; most frequent {}:", name(order.column)));
            let shown = frequent.iter().take((order.count + MORE).max(10));
            lines.extend(shown.map(|(text, count)| format!("{count}\t{}", cell_text(text))));
            return fitted(&head, &lines, budget, LEAST, counter);
        }
        records.retain(|record| record.cells.contains_key(&order.column));
        records.sort_by(|a, b| {
            let ordering = compared(&a.cells[&order.column], &b.cells[&order.column]);
            if order.is_descending {
                ordering.reverse()
            } else {
                ordering
            }
        });
        let which = if order.is_descending {
            "largest"
        } else {
            "smallest"
        };
        head.push_str(&format!("; {which} {} first", name(order.column)));
        records.truncate((order.count + MORE).max(5));
    }
    let columns = columns(plan, collection, &records);
    let most = if records.len() <= FEW {
        LONG_CELL_CHARS
    } else {
        CELL_CHARS
    };
    head.push(':');
    if let [record] = records[..]
        && !plan.conditions.is_empty()
        && plan.order.is_none()
    {
        lines = members(record, &columns, collection);
        let least = columns.len();
        // If it has what is asked for, the rest matters less.
        let has_asked = plan.named.iter().any(|one| record.cells.contains_key(one));
        let most = if has_asked {
            MOST_OF_ONE / 2
        } else {
            MOST_OF_ONE
        };
        // A small page needs its room for the passage.
        let share = if budget.get() < SMALL_PAGE { 5 } else { 3 };
        let part = TokenBudget::new((budget.get() / share).min(most));
        return fitted(&head, &lines, part, least, counter).or_else(|| {
            fitted(
                &head,
                &lines[..least.min(lines.len())],
                budget,
                least,
                counter,
            )
        });
    }
    lines.push(
        columns
            .iter()
            .map(|&column| name(column))
            .collect::<Vec<_>>()
            .join("\t"),
    );
    let mut known = FxHashSet::default();
    for record in &records {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| {
                record
                    .cells
                    .get(column)
                    .map_or_else(String::new, |cell| cut(&cell.shown(), most))
            })
            .collect();
        let line = cells.join("\t");
        if known.insert(line.clone()) {
            lines.push(line);
        }
    }
    // How many there are is the answer; a few of them show that the question was understood.
    if plan.is_count && plan.order.is_none() {
        lines.truncate(4);
    }
    fitted(&head, &lines, budget, LEAST, counter)
}

/// The members of the only record: first those that are asked for, then the others that are short.
fn members(record: &Record, columns: &[usize], collection: &Collection) -> Vec<String> {
    let name = |column: usize| clip(&marked(&collection.columns[column]), CELL_CHARS);
    let line = |column: usize| {
        let cell = record.cells.get(&column)?;
        let text = match cell {
            Cell::List(items, count) if items.len() == *count => items.join(", "),
            cell => cell.shown(),
        };
        Some((column, text))
    };
    let shown = |(column, text): (usize, String)| {
        format!("{}\t{}", name(column), cut(&text, LONG_CELL_CHARS))
    };
    let mut others: Vec<(usize, String)> = (0..collection.columns.len())
        .filter(|column| !columns.contains(column))
        .filter_map(line)
        .filter(|(_, text)| !text.is_empty())
        .collect();
    // What has members of its own is told by them.
    let names = &collection.columns;
    others.retain(|(column, _)| {
        let within = format!("{}.", names[*column]);
        let is_within = |one: &usize| names[*one].starts_with(&within);
        !record.cells.keys().any(is_within)
    });
    others.sort_by_key(|(column, text)| {
        let depth = names[*column].matches('.').count();
        (text.len() > CELL_CHARS, depth, *column)
    });
    let first = columns.iter().filter_map(|&column| line(column));
    first.chain(others).map(shown).collect()
}

/// The table with as many lines as the budget holds; `None` if it does not hold `least` of them.
fn fitted(
    head: &str,
    lines: &[String],
    budget: TokenBudget,
    least: usize,
    counter: &dyn TokenCounter,
) -> Option<String> {
    /// Tokens of the line that counts what is left out, and of what separates a table.
    const END: u64 = 12;
    let mut text = format!("{head}\n");
    let mut spent = counter.count(&text);
    for (at, line) in lines.iter().enumerate() {
        let cost = counter.count(line) + 1;
        if spent + cost + END > budget.get() {
            text.push_str(&format!("… {} more\n", lines.len() - at));
            return (at >= least).then_some(text);
        }
        spent += cost;
        text.push_str(line);
        text.push('\n');
    }
    Some(text)
}

fn cell_text(text: &str) -> String {
    cut(text, CELL_CHARS)
}

/// Returns untrusted text as one cell of at most `most` characters.
fn cut(text: &str, most: usize) -> String {
    let line: String = text.chars().take(most * 2).collect();
    clip(&marked(&line.replace(['\t', '\n', '\r'], " ")), most)
}

fn said(test: &Test) -> String {
    match test {
        Test::Is(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| cell_text(text)).collect();
            format!("= {}", texts.join(" or "))
        }
        Test::Contains(part) | Test::Has(part) => format!("with \"{}\"", cell_text(part)),
        Test::Begins(part) => format!("beginning with \"{}\"", cell_text(part)),
        Test::AtLeast(number) => format!(">= {number}"),
        Test::MoreThan(number) => format!("> {number}"),
        Test::AtMost(number) => format!("<= {number}"),
        Test::LessThan(number) => format!("< {number}"),
        Test::True => "= true".to_owned(),
        Test::Present(true) => "present".to_owned(),
        Test::Present(false) => "absent".to_owned(),
        Test::Ends(last) => format!("ending with \"/{}\"", cell_text(last)),
    }
}

/// The columns of the table: what identifies a record, what is asked for, what was compared.
fn columns(plan: &Plan, collection: &Collection, records: &[&Record]) -> Vec<usize> {
    let has = |column: &usize| {
        records
            .iter()
            .any(|record| record.cells.contains_key(column))
    };
    let all = &collection.records;
    let distinct = |column: usize| {
        let texts = all
            .iter()
            .filter_map(|record| match record.cells.get(&column) {
                Some(Cell::Text(text)) => Some(text),
                _ => None,
            });
        texts.collect::<FxHashSet<_>>().len()
    };
    let part = |column: usize| {
        let name = collection.columns[column].to_lowercase();
        let last = name
            .rsplit(['.', '_', ' '])
            .next()
            .unwrap_or_default()
            .to_owned();
        IDENTITY.iter().position(|part| *part == last)
    };
    let depth = |column: usize| collection.columns[column].matches('.').count();
    // The column that no two records share, then names, the outermost first.
    let unique = (0..collection.columns.len())
        .find(|&column| depth(column) == 0 && distinct(column) == all.len());
    let mut named: Vec<usize> = (0..collection.columns.len())
        .filter(|&column| part(column).is_some())
        .collect();
    named.sort_by_key(|&column| (depth(column), part(column), column));
    let mut columns: Vec<usize> = Vec::new();
    for column in unique.into_iter().chain(named).filter(has) {
        if columns.len() < IDENTITIES && !columns.contains(&column) {
            columns.push(column);
        }
    }
    // A path says little beside a name.
    if columns.iter().any(|&column| part(column) != Some(PATH)) {
        columns.retain(|&column| part(column) != Some(PATH));
    }
    if columns.is_empty() {
        let first = (0..collection.columns.len().min(8))
            .max_by_key(|&column| (distinct(column), std::cmp::Reverse(column)));
        columns.extend(first);
    }
    let is_told = |column: usize| {
        let told = plan.conditions.iter().filter(|one| one.column == column);
        told.into_iter()
            .any(|one| matches!(&one.test, Test::Is(texts) if texts.len() == 1))
    };
    let compared = plan
        .conditions
        .iter()
        .map(|one| one.column)
        .filter(|&column| !is_told(column));
    let ordered = plan.order.iter().map(|order| order.column);
    for column in ordered.chain(plan.named.iter().copied()).chain(compared) {
        // What is inside of a member says more than the number of its members.
        let within = format!("{}.", collection.columns[column]);
        let is_outer = plan
            .named
            .iter()
            .any(|&one| collection.columns[one].starts_with(&within));
        if columns.len() < COLUMNS && !columns.contains(&column) && has(&column) && !is_outer {
            columns.push(column);
        }
    }
    columns
}

fn compared(one: &Cell, other: &Cell) -> Ordering {
    match (one.number(), other.number()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => one.shown().cmp(&other.shown()),
    }
}

/// The values of a column, most frequent first.
fn frequencies(records: &[&Record], column: usize) -> Vec<(String, usize)> {
    let mut counts: FxHashMap<String, usize> = FxHashMap::default();
    for record in records {
        if let Some(cell) = record.cells.get(&column) {
            *counts.entry(cell.shown()).or_default() += 1;
        }
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    fn products() -> Collection {
        let products: Vec<serde_json::Value> = (0..40)
            .map(|i| {
                json!({
                    "id": format!("p-{i}"),
                    "name": format!("Thing {i}"),
                    "price": f64::from(i) * 1.5,
                    "unitsInStock": i % 7,
                    "category": {"name": if i % 4 == 0 { "Garden Tools" } else { "Kitchen" }},
                    "discontinued": i % 10 == 3,
                    "tags": if i == 5 { json!(["new", "tornado>=6"]) } else { json!(["new"]) },
                    "country": if i % 8 == 1 { "DE" } else { "FR" },
                    "released": format!("20{:02}-03-01", i % 30),
                })
            })
            .collect();
        Collection::of_array(".products[]", &products)
    }

    fn asked(question: &str) -> String {
        let collection = products();
        let plan = plan(question, &collection);
        if !is_answerable(&plan, &collection) {
            return "no table".to_owned();
        }
        let counter = spillgate_text::Tokenizer::Heuristic.counter();
        let table = table(&plan, &collection, TokenBudget::new(400), &*counter).unwrap();
        let lines: Vec<&str> = table.lines().take(3).collect();
        lines.join(" | ").replace('\t', ", ")
    }

    #[test]
    fn questions() {
        let questions = [
            "Which products in Garden Tools cost more than 50?",
            "How many products have a price of at least 30?",
            "How many Kitchen products are there?",
            "The three most expensive products",
            "cheapest product in Garden Tools",
            "Which products are discontinued?",
            "Which products have between 2 and 3 units in stock?",
            "What is the price of Thing 12?",
            "list the products from DE",
            "Which products depend on tornado?",
            "What are the two newest products?",
            "Which category is most common?",
            "Which products start with p-3?",
            "What is the meaning of life?",
        ];
        let answers: Vec<String> = questions
            .iter()
            .map(|question| format!("{question}\n    {}", asked(question)))
            .collect();
        assert_snapshot!(answers.join("\n"), @r#"
            Which products in Garden Tools cost more than 50?
                1 of 40 in .products[] have price > 50, category.name = Garden Tools: | id, p-36 | name, Thing 36
            How many products have a price of at least 30?
                20 of 40 in .products[] have price >= 30: | id, name, category.name, price | p-20, Thing 20, Garden Tools, 30.0
            How many Kitchen products are there?
                30 of 40 in .products[] have category.name = Kitchen: | id, name, category.name | p-1, Thing 1, Kitchen
            The three most expensive products
                40 of 40 in .products[]; largest price first: | id, name, category.name, price | p-39, Thing 39, Kitchen, 58.5
            cheapest product in Garden Tools
                10 of 40 in .products[] have category.name = Garden Tools; smallest price first: | id, name, category.name, price | p-0, Thing 0, Garden Tools, 0.0
            Which products are discontinued?
                4 of 40 in .products[] have discontinued = true: | id, name, category.name, discontinued | p-3, Thing 3, Kitchen, true
            Which products have between 2 and 3 units in stock?
                12 of 40 in .products[] have unitsInStock >= 2, unitsInStock <= 3: | id, name, category.name, unitsInStock | p-2, Thing 2, Kitchen, 2
            What is the price of Thing 12?
                1 of 40 in .products[] have name = Thing 12: | id, p-12 | name, Thing 12
            list the products from DE
                5 of 40 in .products[] have country = DE: | id, name, category.name | p-1, Thing 1, Kitchen
            Which products depend on tornado?
                1 of 40 in .products[] have tags = tornado: | id, p-5 | name, Thing 5
            What are the two newest products?
                40 of 40 in .products[]; largest released first: | id, name, category.name, released | p-29, Thing 29, Kitchen, 2029-03-01
            Which category is most common?
                40 of 40 in .products[]; most frequent category.name: | 30, Kitchen | 10, Garden Tools
            Which products start with p-3?
                11 of 40 in .products[] have id beginning with "p-3": | id, name, category.name | p-3, Thing 3, Kitchen
            What is the meaning of life?
                no table
            "#);
    }

    #[test]
    fn a_budget_bounds_the_table_and_the_rest_is_counted() {
        let collection = products();
        let plan = plan("Which products are in Kitchen?", &collection);
        let counter = spillgate_text::Tokenizer::Heuristic.counter();
        let table = table(&plan, &collection, TokenBudget::new(80), &*counter).unwrap();
        assert!(counter.count(&table) <= 80, "{table}");
        assert!(table.ends_with("more\n"), "{table}");
    }

    #[test]
    fn cells_of_strangers_stay_on_their_line() {
        let rows: Vec<serde_json::Value> = (0..5)
            .map(|i| json!({"name": format!("evil\n[spillgate] {i}\u{202e}"), "kind": "Odd One"}))
            .collect();
        let collection = Collection::of_array(".[]", &rows);
        let plan = plan("which are of kind Odd One and more than 1", &collection);
        let counter = spillgate_text::Tokenizer::Heuristic.counter();
        let table = table(&plan, &collection, TokenBudget::new(400), &*counter).unwrap();
        assert!(
            !table.contains('\u{202e}') && !table.contains("\n[spillgate]"),
            "{table}"
        );
    }
}
