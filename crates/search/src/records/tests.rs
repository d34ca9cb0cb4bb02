//! Questions, documents and conditions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::further::with_further;
use super::load::{Collection, Document};
use super::plan::plan;
use super::table::table;
use super::test::{Comparison, Condition, Test, selected};
use super::{answer_of, is_answerable};
use spillgate_artifact::{ContentKind, TokenBudget};
use spillgate_text::Tokenizer;

fn products() -> String {
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
                "version": format!("1.{i}.0"),
                "note": if i % 9 == 0 { json!("seen") } else { Value::Null },
            })
        })
        .collect();
    serde_json::Value::from(products).to_string()
}

fn issues() -> String {
    let issues: Vec<serde_json::Value> = (0..40)
        .map(|i| {
            json!({
                "number": 4000 + i,
                "title": if i % 3 == 0 { "Fix a crash" } else { "Add a page" },
                "state": if i % 2 == 0 { "open" } else { "closed" },
                "user": {"login": if i % 5 == 0 { "bot-renovate" } else { "prakash" }},
                "labels": if i % 4 == 0 { json!([{"name": "bug"}]) } else { json!([]) },
                "assignee": if i % 7 == 0 { json!({"login": "lina"}) } else { Value::Null },
                "from_branch": if i % 6 == 0 { "dev" } else { "main" },
                "target_branch": if i % 6 == 0 { "main" } else { "dev" },
                "delay_ms": i * 10 % 37,
                "reactions": {"heart": i % 9, "total_count": i % 11},
            })
        })
        .collect();
    serde_json::Value::from(issues).to_string()
}

fn asked(question: &str) -> String {
    asked_of(&products(), ".products[]", question)
}

fn asked_of(text: &str, path: &str, question: &str) -> String {
    let counter = Tokenizer::Heuristic.counter();
    let list = serde_json::from_str(text).unwrap();
    let collection = Collection::of_json(path, &list);
    let plan = plan(question, &collection);
    if !is_answerable(&plan, &collection) {
        return "no table".to_owned();
    }
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
        "the cheapest product per unit",
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
        "Which products are not in Kitchen?",
        "Which products are not discontinued and cost more than fifty?",
        "products without a note",
        "How many products have no note?",
        "Which products were released after 2025?",
        "products released in March 2003 or before",
        "Which products are newer than version 1.10.0?",
        "How many different countries are there?",
        "number of products per country",
        "Which country has the most products?",
        "What is the average price of the products in Garden Tools?",
        "products over one thousand units in stock",
        "products other than Thing 3 from DE",
    ];
    let answers: Vec<String> = questions
        .iter()
        .map(|question| format!("{question}\n    {}", asked(question)))
        .collect();
    assert_snapshot!(answers.join("\n"), @r#"
        Which products in Garden Tools cost more than 50?
            1 of 40 in .products[] have price > 50, category.name = Garden Tools: | id, p-36 | name, Thing 36
        How many products have a price of at least 30?
            20 of 40 in .products[] have price >= 30: | id, name, version, price | p-20, Thing 20, 1.20.0, 30.0
        How many Kitchen products are there?
            30 of 40 in .products[] have category.name = Kitchen: | id, name, version | p-1, Thing 1, 1.1.0
        The three most expensive products
            40 of 40 in .products[]; largest price first: | id, name, version, price, category.name, country, discontinued, note, released, unitsInStock | p-39, Thing 39, 1.39.0, 58.5, Kitchen, FR, false, , 2009-03-01, 4
        the cheapest product per unit
            40 of 40 in .products[]; smallest price first: | id, name, version, price, unitsInStock, category.name, country, discontinued, note, released | p-0, Thing 0, 1.0.0, 0.0, 0, Garden Tools, FR, false, seen, 2000-03-01
        cheapest product in Garden Tools
            10 of 40 in .products[] have category.name = Garden Tools; smallest price first: | id, name, version, price, category.name, country, discontinued, note, released, unitsInStock | p-0, Thing 0, 1.0.0, 0.0, Garden Tools, FR, false, seen, 2000-03-01, 0
        Which products are discontinued?
            4 of 40 in .products[] have discontinued = true: | id, name, version, discontinued, category.name, country, price, released, unitsInStock | p-3, Thing 3, 1.3.0, true, Kitchen, FR, 4.5, 2003-03-01, 3
        Which products have between 2 and 3 units in stock?
            12 of 40 in .products[] have unitsInStock >= 2, unitsInStock <= 3: | id, name, version, unitsInStock, category.name, country, discontinued, note, price, released | p-2, Thing 2, 1.2.0, 2, Kitchen, FR, false, , 3.0, 2002-03-01
        What is the price of Thing 12?
            1 of 40 in .products[] have name = Thing 12: | id, p-12 | name, Thing 12
        list the products from DE
            5 of 40 in .products[] have country = DE: | id, name, version, category.name, country, discontinued, note, price, released, unitsInStock | p-1, Thing 1, 1.1.0, Kitchen, DE, false, , 1.5, 2001-03-01, 1
        Which products depend on tornado?
            1 of 40 in .products[] have tags = tornado: | id, p-5 | name, Thing 5
        What are the two newest products?
            40 of 40 in .products[]; largest released first: | id, name, version, released, category.name, country, discontinued, note, price, unitsInStock | p-29, Thing 29, 1.29.0, 2029-03-01, Kitchen, FR, false, , 43.5, 1
        Which category is most common?
            40 of 40 in .products[]; 2 different category.name, most frequent first: | 30, Kitchen | 10, Garden Tools
        Which products start with p-3?
            11 of 40 in .products[] have id beginning with "p-3": | id, name, version, category.name, country, discontinued, note, price, released, unitsInStock | p-3, Thing 3, 1.3.0, Kitchen, FR, true, , 4.5, 2003-03-01, 3
        What is the meaning of life?
            no table
        Which products are not in Kitchen?
            10 of 40 in .products[] have category.name != Kitchen: | id, name, version, category.name, country, discontinued, note, price, released, unitsInStock | p-0, Thing 0, 1.0.0, Garden Tools, FR, false, seen, 0.0, 2000-03-01, 0
        Which products are not discontinued and cost more than fifty?
            6 of 40 in .products[] have price > 50, discontinued != true: | id, name, version, price, discontinued, category.name, country, note, released, unitsInStock | p-34, Thing 34, 1.34.0, 51.0, false, Kitchen, FR, , 2004-03-01, 6
        products without a note
            35 of 40 in .products[] have note absent: | id, name, version | p-1, Thing 1, 1.1.0
        How many products have no note?
            35 of 40 in .products[] have note absent: | id, name, version | p-1, Thing 1, 1.1.0
        Which products were released after 2025?
            4 of 40 in .products[] have released from 2026-01-01 on: | id, name, version, released, category.name, country, discontinued, note, price, unitsInStock | p-26, Thing 26, 1.26.0, 2026-03-01, Kitchen, FR, false, , 39.0, 5
        products released in March 2003 or before
            8 of 40 in .products[] have released before 2003-04-01: | id, name, version, released, category.name, country, discontinued, note, price, unitsInStock | p-0, Thing 0, 1.0.0, 2000-03-01, Garden Tools, FR, false, seen, 0.0, 0
        Which products are newer than version 1.10.0?
            29 of 40 in .products[] have version > 1.10.0 (as versions): | id, name, version | p-11, Thing 11, 1.11.0
        How many different countries are there?
            40 of 40 in .products[]; 2 different country, most frequent first: | 35, FR | 5, DE
        number of products per country
            40 of 40 in .products[]; 2 different country, most frequent first: | 35, FR | 5, DE
        Which country has the most products?
            40 of 40 in .products[]; 2 different country, most frequent first: | 35, FR | 5, DE
        What is the average price of the products in Garden Tools?
            10 of 40 in .products[] have category.name = Garden Tools; 10 values of price: sum 270, mean 27, median 27, smallest 0, largest 54: | id, name, version, price, category.name, country, discontinued, note, released, unitsInStock | p-0, Thing 0, 1.0.0, 0.0, Garden Tools, FR, false, seen, 2000-03-01, 0
        products over one thousand units in stock
            0 of 40 in .products[] have unitsInStock > 1000
        products other than Thing 3 from DE
            5 of 40 in .products[] have name != Thing 3, country = DE: | id, name, version, category.name, country, discontinued, note, price, released, unitsInStock | p-1, Thing 1, 1.1.0, Kitchen, DE, false, , 1.5, 2001-03-01, 1
        "#);
}

#[test]
fn questions_about_issues() {
    let questions = [
        "How many issues have the label bug?",
        "Which bug issues are open?",
        "no labels: how many issues",
        "issues with 0 labels count",
        "unassigned issues count",
        "assignee null count",
        "issues not opened by bot-renovate",
        "count issues user != bot-renovate",
        "from main to dev, count",
        "Who opened issue 4007?",
        "issues slower than 30 ms",
        "worst delay",
        "issue with the highest reactions",
        "issues by delay_ms desc limit 3",
        "How many states are there?",
    ];
    let issues = issues();
    let answers: Vec<String> = questions
        .iter()
        .map(|question| format!("{question}\n    {}", asked_of(&issues, ".[]", question)))
        .collect();
    assert_snapshot!(answers.join("\n"), @r#"
        How many issues have the label bug?
            10 of 40 in .[] have labels = bug: | number | 4000
        Which bug issues are open?
            10 of 40 in .[] have labels = bug, state = open: | number, title, assignee.login, delay_ms, from_branch, reactions.heart, reactions.total_count, state, target_branch, user.login | 4000, Fix a crash, lina, 0, dev, 0, 0, open, main, bot-renovate
        no labels: how many issues
            30 of 40 in .[] have labels absent: | number, title, labels | 4001, Add a page, 0 items
        issues with 0 labels count
            30 of 40 in .[] have labels == 0: | number, title, reactions.total_count, labels | 4001, Add a page, 1, 0 items
        unassigned issues count
            34 of 40 in .[] have assignee absent: | number, title, reactions.total_count | 4001, Add a page, 1
        assignee null count
            34 of 40 in .[] have assignee absent: | number, title, reactions.total_count | 4001, Add a page, 1
        issues not opened by bot-renovate
            32 of 40 in .[] have user.login != bot-renovate: | number, title, user.login | 4001, Add a page, prakash
        count issues user != bot-renovate
            32 of 40 in .[] have user.login != bot-renovate: | number, title, user, reactions.total_count, user.login | 4001, Add a page, 1 items, 1, prakash
        from main to dev, count
            33 of 40 in .[] have from_branch = main, target_branch = dev: | number, title, reactions.total_count | 4001, Add a page, 1
        Who opened issue 4007?
            1 of 40 in .[] have number = 4007: | number, 4007 | title, Add a page
        issues slower than 30 ms
            6 of 40 in .[] have delay_ms > 30: | number, title, delay_ms, assignee.login, from_branch, reactions.heart, reactions.total_count, state, target_branch, user.login | 4007, Add a page, 33, lina, main, 7, 7, closed, dev, prakash
        worst delay
            40 of 40 in .[]; largest delay_ms first: | number, title, delay_ms, assignee.login, from_branch, reactions.heart, reactions.total_count, state, target_branch, user.login | 4011, Add a page, 36, , main, 2, 0, closed, dev, prakash
        issue with the highest reactions
            40 of 40 in .[]; largest reactions.total_count first: | number, title, reactions.total_count, reactions.heart, assignee.login, delay_ms, from_branch, state, target_branch, user.login | 4010, Add a page, 10, 1, , 26, main, open, dev, bot-renovate
        issues by delay_ms desc limit 3
            40 of 40 in .[]; largest delay_ms first: | number, title, delay_ms, assignee.login, from_branch, reactions.heart, reactions.total_count, state, target_branch, user.login | 4011, Add a page, 36, , main, 2, 0, closed, dev, prakash
        How many states are there?
            40 of 40 in .[]; 2 different state: | number, title, state | 4000, Fix a crash, open
        "#);
}

#[test]
fn questions_of_a_few_words() {
    let questions = [
        "top 3 price",
        "2 products with the biggest unitsInStock value",
        "products sorted by price desc, limit 3",
        "products by country",
        "the country which has the biggest number of products",
        "discontinued false count",
        "note is not null, names",
        "max price",
        "products having zero unitsInStock",
        "Kitchen products count",
        "How many products come from Atlantis?",
    ];
    let answers: Vec<String> = questions
        .iter()
        .map(|question| format!("{question}\n    {}", asked(question)))
        .collect();
    assert_snapshot!(answers.join("\n"), @r#"
        top 3 price
            40 of 40 in .products[]; largest price first: | id, name, version, price, category.name, country, discontinued, note, released, unitsInStock | p-39, Thing 39, 1.39.0, 58.5, Kitchen, FR, false, , 2009-03-01, 4
        2 products with the biggest unitsInStock value
            40 of 40 in .products[]; largest unitsInStock first: | id, name, version, unitsInStock, category.name, country, discontinued, note, price, released | p-6, Thing 6, 1.6.0, 6, Kitchen, FR, false, , 9.0, 2006-03-01
        products sorted by price desc, limit 3
            40 of 40 in .products[]; largest price first: | id, name, version, price, category.name, country, discontinued, note, released, unitsInStock | p-39, Thing 39, 1.39.0, 58.5, Kitchen, FR, false, , 2009-03-01, 4
        products by country
            40 of 40 in .products[]; 2 different country, most frequent first: | 35, FR | 5, DE
        the country which has the biggest number of products
            40 of 40 in .products[]; 2 different country, most frequent first: | 35, FR | 5, DE
        discontinued false count
            36 of 40 in .products[] have discontinued = false: | id, name, version, country | p-0, Thing 0, 1.0.0, FR
        note is not null, names
            5 of 40 in .products[] have note present: | id, name, version, category.name, note, country, discontinued, price, released, unitsInStock | p-0, Thing 0, 1.0.0, Garden Tools, seen, FR, false, 0.0, 2000-03-01, 0
        max price
            40 of 40 in .products[]; largest price first: | id, name, version, price, category.name, country, discontinued, note, released, unitsInStock | p-39, Thing 39, 1.39.0, 58.5, Kitchen, FR, false, , 2009-03-01, 4
        products having zero unitsInStock
            6 of 40 in .products[] have unitsInStock == 0: | id, name, version, unitsInStock, category.name, country, discontinued, note, price, released | p-0, Thing 0, 1.0.0, 0, Garden Tools, FR, false, seen, 0.0, 2000-03-01
        Kitchen products count
            30 of 40 in .products[] have category.name = Kitchen: | id, name, version, country | p-1, Thing 1, 1.1.0, DE
        How many products come from Atlantis?
            0 of 40 in .products[] have "Atlantis"
        "#);
}

/// Returns what a page says beside the first reading of a question.
fn further(question: &str) -> String {
    let counter = Tokenizer::Heuristic.counter();
    let text = products();
    let list = serde_json::from_str(&text).unwrap();
    let collection = Collection::of_json(".products[]", &list);
    let plan = plan(question, &collection);
    let first = is_answerable(&plan, &collection).then(|| "First\n".to_owned());
    let budget = TokenBudget::new(1000);
    let text = with_further(first, &plan, &collection, budget, &*counter);
    let text = text.unwrap_or_else(|| "nothing".to_owned());
    text.trim_end().replace('\n', " | ").replace('\t', ", ")
}

#[test]
fn further_readings() {
    let questions = [
        "How many products are not in DE?",
        "How many products are there?",
        "How many products cost more than 30?",
        "Which product is the priciest?",
        "Name the three poorest products",
        "the two most expensive products in Kitchen",
        "Which category has the highest average price?",
        "Which country has the most products?",
        "What is the price of Thing 12?",
        "Which products are in Kitchen?",
        "How many are kitchens?",
    ];
    let answers: Vec<String> = questions
        .iter()
        .map(|question| format!("{question}\n    {}", further(question)))
        .collect();
    assert_snapshot!(answers.join("\n"), @r#"
        How many products are not in DE?
            First | Or by country (2 different): FR 35, DE 5
        How many products are there?
            First | Or by category.name (2 different): Kitchen 30, Garden Tools 10 | Or by country (2 different): FR 35, DE 5
        How many products cost more than 30?
            First | Or price above 30: 19, equal: 1, below: 20 | Or 19 of 40 in .products[] have price > 30, by category.name (2 different): Kitchen 15, Garden Tools 4
        Which product is the priciest?
            First
        Name the three poorest products
            Perhaps largest price first: | id, name, version, price | p-39, Thing 39, 1.39.0, 58.5 | p-38, Thing 38, 1.38.0, 57.0 | p-37, Thing 37, 1.37.0, 55.5 | p-36, Thing 36, 1.36.0, 54.0 | … the smallest: | p-3, Thing 3, 1.3.0, 4.5 | p-2, Thing 2, 1.2.0, 3.0 | p-1, Thing 1, 1.1.0, 1.5 | p-0, Thing 0, 1.0.0, 0.0 | Perhaps largest unitsInStock first: | id, name, version, unitsInStock | p-6, Thing 6, 1.6.0, 6 | p-13, Thing 13, 1.13.0, 6 | p-20, Thing 20, 1.20.0, 6 | p-27, Thing 27, 1.27.0, 6 | … the smallest: | p-14, Thing 14, 1.14.0, 0 | p-21, Thing 21, 1.21.0, 0 | p-28, Thing 28, 1.28.0, 0 | p-35, Thing 35, 1.35.0, 0 | Perhaps largest released first: | id, name, version, released | p-29, Thing 29, 1.29.0, 2029-03-01 | p-28, Thing 28, 1.28.0, 2028-03-01 | p-27, Thing 27, 1.27.0, 2027-03-01 | p-26, Thing 26, 1.26.0, 2026-03-01 | … the smallest: | p-1, Thing 1, 1.1.0, 2001-03-01 | p-31, Thing 31, 1.31.0, 2001-03-01 | p-0, Thing 0, 1.0.0, 2000-03-01 | p-30, Thing 30, 1.30.0, 2000-03-01
        the two most expensive products in Kitchen
            First
        Which category has the highest average price?
            First | Or price by category.name: | category.name, records, sum, mean | Kitchen, 30, 900, 30 | Garden Tools, 10, 270, 27
        Which country has the most products?
            First
        What is the price of Thing 12?
            First
        Which products are in Kitchen?
            First
        How many are kitchens?
            First | Or by category.name (2 different): Kitchen 30, Garden Tools 10
        "#);
}

#[test]
fn a_table_that_is_cut_has_fewer_columns_first() {
    let rows: Vec<Value> = (0..30)
        .map(|i| {
            json!({
                "id": format!("job-{i}"),
                "title": format!("A long title of job-{i}"),
                "state": if i % 2 == 0 { "done" } else { "late" },
            })
        })
        .collect();
    let text = Value::from(rows).to_string();
    let list = serde_json::from_str(&text).unwrap();
    let collection = Collection::of_json(".[]", &list);
    let plan = plan("which jobs are late?", &collection);
    let counter = Tokenizer::Heuristic.counter();
    let table = |budget| table(&plan, &collection, TokenBudget::new(budget), &*counter).unwrap();
    assert_eq!(table(400).lines().nth(1), Some("id\ttitle\tstate"));
    assert_eq!(table(110).lines().nth(1), Some("id"));
    assert!(table(110).ends_with("job-29\n"), "{}", table(110));
}

#[test]
fn a_budget_bounds_the_table_and_the_rest_is_counted() {
    let text = products();
    let list = serde_json::from_str(&text).unwrap();
    let collection = Collection::of_json(".products[]", &list);
    let plan = plan("Which products are in Kitchen?", &collection);
    let counter = Tokenizer::Heuristic.counter();
    let table = table(&plan, &collection, TokenBudget::new(80), &*counter).unwrap();
    assert!(counter.count(&table) <= 80, "{table}");
    assert!(table.ends_with("more\n"), "{table}");
}

#[test]
fn cells_of_strangers_stay_on_their_line() {
    let rows: Vec<serde_json::Value> = (0..5)
        .map(|i| json!({"name": format!("evil\n[spillgate] {i}\u{202e}"), "kind": "Odd One"}))
        .collect();
    let text = serde_json::Value::from(rows).to_string();
    let list = serde_json::from_str(&text).unwrap();
    let collection = Collection::of_json(".[]", &list);
    let plan = plan("which are of kind Odd One and more than 1", &collection);
    let counter = Tokenizer::Heuristic.counter();
    let table = table(&plan, &collection, TokenBudget::new(400), &*counter).unwrap();
    assert!(
        !table.contains('\u{202e}') && !table.contains("\n[spillgate]"),
        "{table}"
    );
}

/// Reads a document and returns its collections.
fn loaded<T>(
    text: &str,
    kind: ContentKind,
    then: impl FnOnce(&[Collection<'_>]) -> T,
) -> Option<T> {
    let document = Document::of(text.as_bytes().to_vec(), kind);
    let parsed = document.parse()?;
    Some(then(&parsed.collections()))
}

#[test]
fn lines_that_are_not_json_are_left_out_and_counted() {
    let mut text: String = (0..20).map(|i| format!("{{\"n\":{i}}}\n")).collect();
    text.push_str("Finished in 3 s\n");
    let head = loaded(&text, ContentKind::Ndjson, |all| {
        let counter = Tokenizer::Heuristic.counter();
        let plan = plan("How many have n above 17?", &all[0]);
        table(&plan, &all[0], TokenBudget::new(200), &*counter)
    });
    let head = head.flatten().unwrap();
    let want = "2 of 20 records (without 1 line that is not JSON) have n > 17:";
    assert_eq!(head.lines().next(), Some(want));
    // Among many other lines, a count of the rest would mislead.
    text.push_str(&"no JSON\n".repeat(5));
    assert!(loaded(&text, ContentKind::Ndjson, |all| all.len()).is_none());
}

#[test]
fn rows_that_are_too_short_or_too_long_are_records() {
    let text = "name,size\na,1\nb\nc,3,more\nd,4\n";
    let shown = loaded(text, ContentKind::Csv, |all| {
        let cell = |at: usize, column| {
            all[0].records[at]
                .get(column)
                .map(|cell| cell.shown().into_owned())
        };
        (all[0].columns.clone(), cell(1, 1), cell(2, 2))
    });
    let columns = ["name", "size", "column 3"].map(str::to_owned).to_vec();
    assert_eq!(shown, Some((columns, None, Some("more".to_owned()))));
}

#[test]
fn a_list_of_different_things_is_no_collection() {
    let mixed = r#"[{"a":1},{"a":2},3,{"a":4},{"a":5}]"#;
    assert_eq!(loaded(mixed, ContentKind::Json, |all| all.len()), Some(0));
    let same = r#"[{"a":1},{"a":2},{"a":[3]},{"b":4},{}]"#;
    assert_eq!(
        loaded(same, ContentKind::Json, |all| all[0].records.len()),
        Some(5)
    );
}

#[test]
fn of_a_key_that_occurs_twice_the_last_value_counts() {
    let text = r#"[{"a":1,"a":2},{"a":1},{"a":1},{"a":3}]"#;
    let numbers = loaded(text, ContentKind::Json, |all| {
        let records = all[0].records.iter();
        records
            .map(|one| one.get(0).and_then(super::cell::Cell::number))
            .collect::<Vec<_>>()
    });
    assert_eq!(
        numbers,
        Some(vec![Some(2.0), Some(1.0), Some(1.0), Some(3.0)])
    );
}

#[test]
fn values_deep_inside_the_only_record() {
    let text = r#"{"200":{"schema":{"properties":{"fees":{"example":"42","type":"string"},"time":{"example":"7"}}}}}"#;
    let record = serde_json::from_str(text).unwrap();
    let asked = ["exampl", "fee"].map(str::to_owned);
    let want = [(
        "200.schema.properties.fees.example".to_owned(),
        "42".to_owned(),
    )];
    assert_eq!(super::inner::inner(&record, &asked), want);
    assert!(super::inner::inner(&record, &asked[1..]).is_empty());
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
        prop::collection::vec("[ab]", 0..3).prop_map(Value::from),
    ]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    use Comparison::{AtLeast, AtMost, Equal, LessThan, MoreThan};
    prop::sample::select(vec![AtLeast, AtMost, Equal, LessThan, MoreThan])
}

fn condition() -> impl Strategy<Value = (&'static str, Test, bool)> {
    let test = prop_oneof![
        (comparison(), -3i32..4).prop_map(|(how, number)| Test::Number(how, f64::from(number))),
        prop::collection::vec("[ab]{1,2}", 1..3).prop_map(Test::Is),
        "[ab]".prop_map(|start| Test::Begins(vec![start])),
        Just(Test::Present),
    ];
    (prop::sample::select(vec!["x", "y"]), test, any::<bool>())
}

/// What a condition means for a JSON value.
fn meets(value: &Value, test: &Test) -> bool {
    let any = |is: &dyn Fn(&str) -> bool| match value {
        Value::Null => false,
        Value::String(text) => is(text),
        Value::Array(items) => items.iter().any(|item| item.as_str().is_some_and(is)),
        other => is(&other.to_string()),
    };
    match test {
        Test::Number(how, number) => {
            let length = value.as_array().map(|items| items.len() as f64);
            let one = length.or(value.as_f64());
            one.is_some_and(|one| how.holds(&one, number))
        }
        Test::Is(texts) => any(&|text| texts.iter().any(|one| one == text)),
        Test::Begins(starts) => {
            any(&|text| starts.iter().any(|start| text.starts_with(start.as_str())))
        }
        Test::Present => match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        },
        _ => unreachable!("not among the conditions"),
    }
}

proptest! {
    #[test]
    fn conditions_select_what_a_plain_filter_selects(
        rows in prop::collection::vec((value(), value()), 4..12),
        conditions in prop::collection::vec(condition(), 0..3),
    ) {
        let rows: Vec<Value> = rows.into_iter().map(|(x, y)| json!({"x": x, "y": y})).collect();
        let text = Value::from(rows.clone()).to_string();
        let selected: Option<Vec<usize>> = loaded(&text, ContentKind::Json, |all| {
            let column = |name: &str| all[0].columns.iter().position(|one| one == name);
            let conditions: Vec<Condition> = conditions
                .iter()
                .map(|(name, test, is_negated)| Condition {
                    column: column(name).unwrap_or(usize::MAX),
                    test: test.clone(),
                    is_negated: *is_negated,
                    is_weak: false,
                })
                .collect();
            let records = selected(&conditions, &all[0]);
            let is_selected = |at: &usize| {
                let one = &all[0].records[*at];
                records.iter().any(|other| std::ptr::eq(*other, one))
            };
            (0..all[0].records.len()).filter(is_selected).collect()
        });
        let meets_all = |row: &Value| {
            let mut conditions = conditions.iter();
            conditions.all(|(name, test, is_negated)| meets(&row[name], test) != *is_negated)
        };
        let wanted = (0..rows.len()).filter(|&at| meets_all(&rows[at]));
        prop_assert_eq!(selected, Some(wanted.collect()));
    }

    #[test]
    fn any_question_and_document_are_read(question in ".{0,80}", text in r#"[\[\]{}",:a-c0-9 \n-]{0,200}"#) {
        let counter = Tokenizer::Heuristic.counter();
        for kind in [ContentKind::Json, ContentKind::Ndjson, ContentKind::Csv, ContentKind::Tsv] {
            loaded(&text, kind, |all| {
                for one in all {
                    let plan = plan(&question, one);
                    table(&plan, one, TokenBudget::new(200), &*counter);
                }
            });
        }
    }
}

/// Jobs with sizes and times as texts, and the files of each.
fn jobs() -> String {
    let jobs: Vec<Value> = (0..40_usize)
        .map(|i| {
            json!({
                "job": format!("bk-{i:02}"),
                "run_number": 100 + i,
                "run_attempt": 1 + i % 3,
                "kind": if i % 3 == 0 { "full" } else { "incremental" },
                "status": (["ok", "ok", "ok", "failed"][i % 4]),
                "size": if i % 2 == 0 { format!("{}.5 MB", i + 1) } else { format!("{i} KB") },
                "took": if i % 5 == 0 { format!("{}m{i}s", i + 1) } else { format!("{i}s") },
                "wait_ms": i * 200,
                "change": i64::try_from(i % 11).unwrap() - 5,
                "cost_repair": i,
                "cost_total": i * 2,
                "error": if i % 4 == 3 { json!("disk full") } else { Value::Null },
                "fixAvailable": i % 8 == 1,
                "retries": i % 4,
                "actor": {"login": (["ada", "ben", "ada", "cyd"][i % 4])},
                "publishedAt": format!("20{:02}-06-01", 10 + i % 20),
                "borders": if i % 10 == 0 { json!(["CHE", "FRA"]) } else { json!(["FRA"]) },
                "files": [{"file": format!("f{i}"), "download_count": (i * 7) % 41}],
            })
        })
        .collect();
    json!({ "jobs": jobs }).to_string()
}

/// The first lines of an answer over a whole document.
fn first_lines(text: &str, question: &str, most: usize) -> String {
    let document = Document::of(text.as_bytes().to_vec(), ContentKind::Json);
    let parsed = document.parse().unwrap();
    let counter = Tokenizer::Heuristic.counter();
    let answer = answer_of(
        &parsed,
        document.text(),
        question,
        TokenBudget::new(1000),
        &*counter,
    );
    let answer = answer.unwrap_or_else(|| "no table".to_owned());
    let lines: Vec<&str> = answer.lines().take(most).collect();
    let lines = lines.iter().map(|line| {
        let cells: Vec<&str> = line.split('\t').take(3).collect();
        cells.join(", ")
    });
    lines.collect::<Vec<_>>().join(" | ")
}

#[test]
fn wordings_of_strangers() {
    let questions = [
        "Which two jobs are the biggest?",
        "Which jobs are larger than 30 MB?",
        "Which job took the longest?",
        "How many jobs waited over a second?",
        "jobs that took more than 20 minutes",
        "Which jobs failed because the disk was full?",
        "How many jobs haven't failed?",
        "What failed?",
        "total repair cost",
        "jobs without any retries, how many?",
        "How many jobs had no retries?",
        "Which jobs have a change < -4?",
        "how many jobs have a negative change?",
        "Which jobs have no fix available?",
        "Who runs the most jobs?",
        "What are the two newest jobs?",
        "bottom 2 wait_ms",
        "three slowest runs",
        "the job that has waited most long",
        "2015 jobs count",
        "Which jobs border CHE?",
        "Which file has the highest download_count?",
        "kind distribution",
        "retries",
    ];
    let jobs = jobs();
    let answers: Vec<String> = questions
        .iter()
        .map(|question| format!("{question}\n    {}", first_lines(&jobs, question, 4)))
        .collect();
    assert_snapshot!(answers.join("\n"), @r#"
        Which two jobs are the biggest?
            40 of 40 in .jobs[]; largest size first: | job, run_number, size | bk-38, 138, 39.5 MB | bk-36, 136, 37.5 MB
        Which jobs are larger than 30 MB?
            5 of 40 in .jobs[] have size > 30000000: | job, run_number, size | bk-30, 130, 31.5 MB | bk-32, 132, 33.5 MB
        Which job took the longest?
            40 of 40 in .jobs[]; largest took first: | job, run_number, took | bk-35, 135, 36m35s | bk-30, 130, 31m30s
        How many jobs waited over a second?
            34 of 40 in .jobs[] have wait_ms > 1000: | job, run_number, wait_ms | bk-06, 106, 1200 | bk-07, 107, 1400
        jobs that took more than 20 minutes
            4 of 40 in .jobs[] have took > 1200: | job, run_number, took | bk-20, 120, 21m20s | bk-25, 125, 26m25s
        Which jobs failed because the disk was full?
            10 of 40 in .jobs[] have error = disk full, status = failed: | job, run_number, actor.login | bk-03, 103, cyd | bk-07, 107, cyd
        How many jobs haven't failed?
            30 of 40 in .jobs[] have status != failed: | job, run_number, status | bk-00, 100, ok | bk-01, 101, ok
        What failed?
            10 of 40 in .jobs[] have status = failed: | job, run_number, actor.login | bk-03, 103, cyd | bk-07, 107, cyd
        total repair cost
            40 of 40 in .jobs[]; 40 values of cost_repair: sum 780, mean 19.5, median 19.5, smallest 0, largest 39: | job, run_number, cost_repair | bk-00, 100, 0 | bk-01, 101, 1
        jobs without any retries, how many?
            10 of 40 in .jobs[] have retries == 0: | job | bk-00 | bk-04
        How many jobs had no retries?
            10 of 40 in .jobs[] have retries == 0: | job | bk-00 | bk-04
        Which jobs have a change < -4?
            4 of 40 in .jobs[] have change < -4: | job, run_number, change | bk-00, 100, -5 | bk-11, 111, -5
        how many jobs have a negative change?
            20 of 40 in .jobs[] have change < 0: | job, run_number, change | bk-00, 100, -5 | bk-01, 101, -4
        Which jobs have no fix available?
            35 of 40 in .jobs[] have fixAvailable != true: | job, run_number, fixAvailable | bk-00, 100, false | bk-02, 102, false
        Who runs the most jobs?
            40 of 40 in .jobs[]; 3 different actor.login, most frequent first: | 20, ada | 10, ben | 10, cyd
        What are the two newest jobs?
            40 of 40 in .jobs[]; largest publishedAt first: | job, run_number, publishedAt | bk-19, 119, 2029-06-01 | bk-39, 139, 2029-06-01
        bottom 2 wait_ms
            40 of 40 in .jobs[]; smallest wait_ms first: | job, run_number, wait_ms | bk-00, 100, 0 | bk-01, 101, 200
        three slowest runs
            40 of 40 in .jobs[]; largest took first: | job, run_number, took | bk-35, 135, 36m35s | bk-30, 130, 31m30s
        the job that has waited most long
            40 of 40 in .jobs[]; largest wait_ms first: | job, run_number, wait_ms | bk-39, 139, 7800 | bk-38, 138, 7600
        2015 jobs count
            2 of 40 in .jobs[] have publishedAt from 2015-01-01 to 2015-12-31: | job, run_number, publishedAt | bk-05, 105, 2015-06-01 | bk-25, 125, 2015-06-01
        Which jobs border CHE?
            4 of 40 in .jobs[] have borders = CHE: | job, run_number, actor.login | bk-00, 100, ada | bk-10, 110, ada
        Which file has the highest download_count?
            40 of 40 in .jobs[].files[]; largest download_count first: | file, download_count, in job | f35, 40, bk-35 | f29, 39, bk-29
        kind distribution
            40 of 40 in .jobs[]; 2 different kind, most frequent first: | 26, incremental | 14, full
        retries
            Perhaps by retries (4 different): 0 10, 1 10, 2 10, 3 10 | Perhaps by run_attempt (3 different): 1 14, 2 13, 3 13
        "#);
}

#[test]
fn dates_alone_are_no_order() {
    let time: serde_json::Map<String, Value> = (0..30)
        .map(|i| (format!("1.{i}.0"), json!(format!("20{:02}-03-01", i % 30))))
        .collect();
    let files = ["react.js", "index.js", "react.min.js", "license"].map(|key| json!({"path": key}));
    let text = json!({"time": time, "files": files}).to_string();
    let line = first_lines(&text, "dist shasum for the latest react", 1);
    assert_eq!(line, "2 of 4 in .files[] have path with \"react\":");
}

#[test]
fn columns_that_tell_records_apart_are_shown_whole() {
    let purpose =
        "to be transferred to the fund for a purpose that this name explains at some length";
    let accounts: Vec<Value> = (0..30)
        .map(|i| {
            json!({
                "category name": if i % 6 == 0 { "Duties" } else { "Taxes" },
                "group name": "Receipts",
                "agency name": if i < 20 { "Interior" } else { "Defence" },
                "account name": format!("Account {i}, {purpose}, part {i}"),
            })
        })
        .collect();
    let text = Value::from(accounts).to_string();
    assert_snapshot!(asked_of(&text, ".[]", "Which accounts have the category Duties?"), @"5 of 30 in .[] have category name = Duties: | account name, agency name, category name, group name | Account 0, to be transferred to the fund for a purpose that this name explains at some length, part 0, Interior, Duties, Receipts");
}
