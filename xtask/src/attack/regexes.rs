//! The attack that searches through the gateway with regular expressions that take much time or
//! memory. Each search must be refused, or be answered in time.

use anyhow::Result;
use serde_json::json;

use super::chance::Chance;
use super::room::{Room, text};
use super::session::{Session, gateway};
use super::table::Outcome;

/// Size of the text that is searched, in bytes.
const BYTES: usize = 330_000;

/// Patterns that grow when they are compiled, that backtrack much at each position, or that are
/// invalid.
pub(crate) const PATTERNS: [&str; 20] = [
    "(?:a{0,1000}){0,1000}",
    "((a{0,100}){0,100}){0,100}",
    "(a|aa)+$",
    "(a*)*b",
    "(.*)(.*)(.*)(.*)(.*)x",
    "(x+x+)+y",
    r"\w{1000}",
    r"(\p{L}{1,200}){1,200}",
    "[a-z]{0,500}[a-z]{0,500}z$",
    "(?i:some words){50,500}",
    ".{0,30000}!",
    "(?s).*words.*number.*never",
    r"(?:\S+\s+){0,3000}end",
    "(?:(?:(?:a?){99}){99}){99}",
    "^(?:.?){2000}.{2000}",
    "(((((((((((((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))))))))))))))",
    "(a",
    "[z-a]",
    r"\p{NoSuchClass}",
    "a{99999999}",
];

/// Prefixes and suffixes. Each pattern is combined with each of these pairs.
const AROUND: [(&str, &str); 4] = [
    ("", ""),
    ("^(?:", ")$"),
    ("(?i)(?:", ")+"),
    ("(?:", "|attack){2,9}"),
];

/// Runs searches with at most `count` patterns.
pub(crate) fn attack(room: &Room, count: usize, _: &mut Chance) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let handle = room.put(&text(1, BYTES))?;
    let mut session = Session::start(room, gateway(room, &room.work().join("received"))?)?;
    let patterns = AROUND
        .iter()
        .flat_map(|(before, after)| PATTERNS.map(|pattern| format!("{before}{pattern}{after}")));
    let call = |regex: &str| json!({"name": "spillgate_grep", "arguments": {"handle": handle, "pattern": regex}});
    // The first searches fill memory pools, so memory is measured after them.
    for regex in ["words", "number 7", "[a-z]+ 000[0-9]+"] {
        let found = session.ask("tools/call", &call(regex))?;
        let is_found = found
            .answer
            .is_some_and(|answer| answer["result"]["isError"] != true);
        anyhow::ensure!(is_found, "no match of `{regex}`");
    }
    let start = session.memory();
    for regex in patterns.take(count) {
        room.go_on()?;
        outcome.tried += 1;
        if session.ask("tools/call", &call(&regex))?.answer.is_none() {
            outcome.hangs += 1;
            outcome.note(format!("no answer to {regex}"));
            break; // what blocks this search would block the next one, too
        }
    }
    outcome.memory = Some((start, session.memory_after(start)));
    session.end(&mut outcome)?;
    Ok(outcome)
}
