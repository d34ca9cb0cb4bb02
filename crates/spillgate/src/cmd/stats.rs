//! `spillgate stats`: tokens in, shown, read later, saved.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use serde_json::json;
use spillgate_offload::{Exit, LedgerEntry};
use spillgate_store::ArtifactStore;

use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::House;

/// Sums over ledger entries.
#[derive(Debug, Default, Serialize)]
struct Sums {
    /// Results that were stored.
    offloaded: u64,
    /// Results that should have been stored and could not.
    not_stored: u64,
    /// Pages read or searched.
    retrievals: u64,
    tokens_in: u64,
    /// How many of `tokens_in` were extrapolated, not counted.
    tokens_in_estimated: u64,
    tokens_shown: u64,
    tokens_retrieved: u64,
    /// In − shown − retrieved; negative when it cost more than it saved.
    tokens_saved: i64,
}

impl Sums {
    fn add(&mut self, entry: &LedgerEntry) {
        match entry.exit {
            Exit::Offloaded => self.offloaded += 1,
            Exit::NotStored => self.not_stored += 1,
            Exit::Retrieved => {
                self.retrievals += 1;
                self.tokens_retrieved += entry.tokens_shown;
                return self.balance();
            }
            Exit::Inline => return,
        }
        self.tokens_in += entry.tokens_in.count;
        if !entry.tokens_in.exact {
            self.tokens_in_estimated += entry.tokens_in.count;
        }
        self.tokens_shown += entry.tokens_shown;
        self.balance();
    }

    fn balance(&mut self) {
        let spent = self.tokens_shown + self.tokens_retrieved;
        self.tokens_saved = self.tokens_in.cast_signed() - spent.cast_signed();
    }
}

pub(crate) fn stats(house: &House, out: &Output) -> Result<u8, Failure> {
    let entries = house.ledger.entries()?;
    let listed = house.store.list()?;
    let stored_bytes: u64 = listed.iter().map(|one| one.bytes).sum();
    let (mut total, mut by_tool) = (Sums::default(), BTreeMap::<String, Sums>::new());
    for entry in entries.iter().filter(|entry| entry.exit != Exit::Inline) {
        total.add(entry);
        let server = entry.server.as_ref().map(|name| format!("{name}/"));
        let name = format!("{}{}", server.unwrap_or_default(), entry.tool);
        by_tool.entry(name).or_default().add(entry);
    }
    let inline = entries.iter().filter(|entry| entry.exit == Exit::Inline);
    let inline: u64 = inline.map(|entry| entry.tokens_shown).sum();
    if out.json {
        out.object(&json!({
            "store": house.store.base(),
            "artifacts": listed.len(),
            "stored_bytes": stored_bytes,
            "passed_through": inline,
            "total": total,
            "tools": by_tool,
        }))?;
        return Ok(0);
    }
    let mut text = format!(
        "{} stored outputs, {} in {}\n{inline} results passed through the gateway as they were\n\n",
        listed.len(),
        bytesize::ByteSize(stored_bytes),
        house.store.base().display(),
    );
    table(&mut text, &by_tool, &total);
    out.raw(text.as_bytes())?;
    Ok(0)
}

fn table(text: &mut String, by_tool: &BTreeMap<String, Sums>, total: &Sums) {
    row(
        text,
        &[
            "TOOL",
            "OFFLOADED",
            "TOKENS IN",
            "SHOWN",
            "READ LATER",
            "SAVED",
        ],
    );
    let tools = by_tool.iter().map(|(name, sums)| (name.as_str(), sums));
    for (name, sums) in tools.chain([("all", total)]) {
        let about = if sums.tokens_in_estimated > 0 {
            "≈"
        } else {
            ""
        };
        row(
            text,
            &[
                &name.escape_debug().to_string(),
                &sums.offloaded.to_string(),
                &format!("{about}{}", sums.tokens_in),
                &sums.tokens_shown.to_string(),
                &sums.tokens_retrieved.to_string(),
                &format!("{about}{}", sums.tokens_saved),
            ],
        );
    }
}

fn row(text: &mut String, [name, cells @ ..]: &[&str; 6]) {
    write!(text, "{name:<44}").expect("writing to a string");
    for cell in cells {
        write!(text, " {cell:>11}").expect("writing to a string");
    }
    text.push('\n');
}
