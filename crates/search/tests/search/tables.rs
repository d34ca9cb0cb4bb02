//! Searches in rows of tables, and in elements of HTML, XML and snapshots.

use super::*;

#[test]
fn rows_of_a_table() {
    let mut text = String::from("id,city,temperature,note\n");
    for i in 0..500 {
        let city = ["Oslo", "New York", "York", "Lima"][i % 4];
        text.push_str(&format!("{i},{city},{}.5,\"a, b {i}\"\n", i % 30));
    }
    let artifact = artifact(&text);
    assert_snapshot!(find(&artifact, "What was the temperature in New York?", 90).render(), @"
    125 of 500 records have city = New York:
    note	id	temperature
    a, b 1	1	1.5
    a, b 5	5	5.5
    a, b 9	9	9.5
    a, b 13	13	13.5
    a, b 17	17	17.5
    … 120 more
    ");
}

#[test]
fn a_row_with_line_breaks_in_a_cell() {
    let mut text = String::from("id,name,note,city\n");
    for i in 0..300 {
        let city = ["Oslo", "Lima", "Rome"][i % 3];
        text.push_str(&format!(
            "{i},Person {i},\"first line\nsecond line, \"\"{i}\"\"\nlast\",{city}\n"
        ));
    }
    let artifact = artifact(&text);
    assert_snapshot!(find(&artifact, "What is the city of Person 77?", 250).render(), @r#"
    1 of 300 records have name = Person 77:
    name	Person 77
    id	77
    city	Rome
    note	first line second line, "77" last
    --
    [1 of 2 passages]
    1:id,name,note,city
    233:77,Person 77,"first line
    234:second line, ""77""
    235:last",Rome
    "#);
}

#[test]
fn rows_of_a_table_in_markdown() {
    let mut text = String::from("# Fares\n\nWhat people pay.\n\n| City | Fare |\n|---|---|\n");
    for i in 0..80 {
        text.push_str(&format!("| Town {i} | {i}.5 |\n"));
    }
    text.push_str("\nThe last town is the dearest.\n");
    assert_snapshot!(find(&artifact(&text), "fare in Town 57", 45).render(), @"
    [4 of 84 passages]
    64:| Town 57 | 57.5 |
    --
    5:| City | Fare |
    6:|---|---|
    --
    3:What people pay.
    ");
}

/// A page with a price list.
fn page() -> String {
    let card = |i: usize| {
        format!(
            "<div class=\"card\" data-id=\"p-{i}\"><div class=\"name\">Lamp {i}</div>\n<div class=\"price\">{i}.99 &euro;</div></div>\n"
        )
    };
    let cards: String = (0..60).map(card).collect();
    format!(
        "<html><head><title>Shop</title></head><body><h1>Lamps</h1>\n<p>All lamps are <b>hand-made</b> in Turin and\nshipped within two days.</p>\n{cards}</body></html>\n"
    )
}

#[test]
fn elements_of_html_with_their_children() {
    let artifact = artifact(&page());
    assert_snapshot!(find(&artifact, "How much is Lamp 17?", 40).render(), @"
    [1 of 1 passage]
    (tags left out)
    77:Lamp 17
    79:17.99 €
    ");
    assert_snapshot!(find(&artifact, "Where are lamps manufactured by hand?", 50).render(), @"
    [2 of 2 passages]
    (tags left out)
    6:Lamps
    7:All lamps are hand-made in Turin and
    8:shipped within two days.
    9:Lamp 0
    11:0.99 €
    ");
    // A name that occurs only in a tag is shown with the tag.
    assert_snapshot!(find(&artifact, "p-23", 80).render(), @r#"
    [1 of 1 passage]
    101:<div class="card" data-id="p-23">
    102:<div class="name">Lamp 23</div>
    103:<div class="price">23.99 &euro;</div>
    104:</div>
    "#);
}

#[test]
fn elements_of_xml_and_snapshots_with_their_children() {
    let row = |at: u32| {
        format!(
            "  <product id=\"p-{at}\">\n    <name>Lamp {at}</name>\n    <price>{at}.99</price>\n  </product>\n"
        )
    };
    let rows: String = (0..60).map(row).collect();
    let xml = artifact(&format!("<?xml version=\"1.0\"?>\n<shop>\n{rows}</shop>\n"));
    assert_snapshot!(find(&xml, "price of p-23", 80).render(), @r#"
    [3 of 3 passages]
    95:  <product id="p-23">
    96:    <name>Lamp 23</name>
    97:    <price>23.99</price>
    98:  </product>
    99:  <product id="p-24">
    --
    91:  <product id="p-22">
    "#);
    let row = |at: u32| {
        format!(
            "    - row \"Lamp {at} {at}.99\" [ref=e{at}0]:\n      - cell \"Lamp {at}\" [ref=e{at}1]\n      - cell \"{at}.99\" [ref=e{at}2]\n"
        )
    };
    let rows: String = (10..60).map(row).collect();
    let page = artifact(&format!(
        "- main [ref=e1]:\n  - heading \"Lamps\" [level=1] [ref=e2]\n  - table [ref=e3]:\n{rows}"
    ));
    assert_snapshot!(find(&page, "price of Lamp 23", 120).render(), @r#"
    [1 of 1 passage]
    43:    - row "Lamp 23 23.99" [ref=e230]:
    44:      - cell "Lamp 23" [ref=e231]
    45:      - cell "23.99" [ref=e232]
    "#);
    let row = |at: u32| {
        format!(
            "  uid=1_{at}0 row\n    uid=1_{at}1 StaticText \"Lamp {at}\"\n    uid=1_{at}2 StaticText \"{at}.99\"\n"
        )
    };
    let rows: String = (10..60).map(row).collect();
    let page = artifact(&format!("uid=1_0 RootWebArea \"Lamps\"\n{rows}"));
    assert_snapshot!(find(&page, "Lamp 23", 80).render(), @r#"
    [1 of 1 passage]
    41:  uid=1_230 row
    42:    uid=1_231 StaticText "Lamp 23"
    43:    uid=1_232 StaticText "23.99"
    "#);
}

#[test]
fn kinds_of_a_table_without_names() {
    let rows = (0..60).map(|i| {
        format!(
            "unit{i}\t1.{i}\t{}\t{}\torigin{}\n",
            ["libs", "admin"][usize::from(i % 3 == 0)],
            i * 31 % 97,
            i * i % 29
        )
    });
    let text: String = rows.collect();
    let artifact = artifact(&text);
    let readings = |question: &str| {
        let page = find(&artifact, question, 400).render();
        let readings: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("Or "))
            .collect();
        readings.join("\n")
    };
    assert_snapshot!(readings("largest section by unit count"), @"
    Or by column 3 (2 different): libs 40, admin 20
    Or by column 5 (15 different): origin1 5, origin13 4, origin16 4, origin20 4, origin22 4, origin23 4, origin24 4, origin25 4, … 7 more
    ");
}
