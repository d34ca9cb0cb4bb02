//! Makes a table of the rules in `src/rules.toml`, so that no command has to parse them.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use toml_edit::{Document, Item, TableLike};

const RULES: &str = "src/rules.toml";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={RULES}");
    let text = fs::read_to_string(RULES).unwrap_or_else(|error| panic!("{RULES}: {error}"));
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{RULES}: {error}"));
    let rules = document["rule"].as_array_of_tables().expect("[[rule]]");
    let mut table = format!("[BuiltIn; {}] = [\n", rules.len());
    for rule in rules {
        let id = text_of(rule, "id").expect("each rule has an id");
        add(&mut table, &id, rule).unwrap_or_else(|why| panic!("{RULES}: {id}: {why}"));
    }
    let directory = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    let code = format!("static BUILT_IN: {table}];\n");
    fs::write(Path::new(&directory).join("rules.rs"), code).expect("OUT_DIR can be written");
}

fn text_of(rule: &dyn TableLike, key: &str) -> Option<String> {
    rule.get(key).and_then(Item::as_str).map(str::to_owned)
}

/// Adds a rule to the table.
fn add(table: &mut String, id: &str, rule: &dyn TableLike) -> Result<(), String> {
    const KEYS: [&str; 9] = [
        "id",
        "literals",
        "pattern",
        "finder",
        "before",
        "reach",
        "credentials",
        "random",
        "entropy",
    ];
    if let Some((key, _)) = rule.iter().find(|(key, _)| !KEYS.contains(key)) {
        return Err(format!("unknown key {key}"));
    }
    let literals = rule
        .get("literals")
        .and_then(Item::as_array)
        .ok_or("no literals")?;
    let literals: Option<Vec<&str>> = literals.iter().map(|it| it.as_str()).collect();
    let literals = literals.ok_or("a literal is no text")?;
    if literals.is_empty() || literals.iter().any(|it| it.len() < 3) {
        return Err("a literal has at least 3 bytes".into());
    }
    let finder = match (text_of(rule, "finder").as_deref(), text_of(rule, "pattern")) {
        (Some("assignment"), None) => "BuiltInFinder::Assignment".into(),
        (Some("cookie"), None) => "BuiltInFinder::Cookie".into(),
        (Some("private-key"), None) => "BuiltInFinder::PrivateKey".into(),
        (Some("url"), None) => "BuiltInFinder::Url".into(),
        (None, Some(pattern)) => format!("BuiltInFinder::Pattern({pattern:?})"),
        _ => return Err("a rule has either a known finder or a pattern".into()),
    };
    let number = |key: &str| match rule.get(key) {
        None => Ok(None),
        Some(number) => {
            let number = number.as_integer().and_then(|it| usize::try_from(it).ok());
            number.map(Some).ok_or(format!("{key} is no number"))
        }
    };
    let entropy = match rule.get("entropy") {
        None => None,
        Some(entropy) => Some(entropy.as_float().ok_or("entropy is no float")?),
    };
    let flag = |key: &str| match rule.get(key) {
        None => Ok(false),
        Some(flag) => flag.as_bool().ok_or(format!("{key} is no boolean")),
    };
    writeln!(
        table,
        "BuiltIn {{ id: {id:?}, literals: &{literals:?}, finder: {finder}, before: {}, reach: {:?}, \
         entropy: {entropy:?}, credentials: {}, random: {} }},",
        number("before")?.unwrap_or(0),
        number("reach")?,
        flag("credentials")?,
        flag("random")?,
    )
    .map_err(|error| error.to_string())
}
