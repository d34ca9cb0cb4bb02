//! `spillgate ls`: lists stored outputs.

use std::fmt::Write;

use bytesize::ByteSize;
use serde_json::json;
use spillgate_artifact::{Clock, SystemClock};
use spillgate_store::{ArtifactStore, Listed, Survey};

use crate::args::Ls;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

pub(crate) fn ls(app: &App, ls: &Ls, out: &Output) -> Result<u8, Failure> {
    let Survey {
        mut listed,
        damaged,
    } = app.store.survey()?;
    if let Some(part) = &ls.tool {
        listed.retain(|one| one.manifest.facts.origin.tool.contains(part));
    }
    if out.json {
        for one in &listed {
            let mut object = serde_json::to_value(&one.manifest).unwrap_or_default();
            object["used"] = json!(one.used);
            object["stored_bytes"] = json!(one.bytes);
            out.object(&object)?;
        }
        for one in &damaged {
            out.object(&json!({
                "handle": one.handle,
                "damaged": one.why.to_string(),
                "used": one.used,
                "stored_bytes": one.bytes,
            }))?;
        }
        return Ok(0);
    }
    if listed.is_empty() && damaged.is_empty() && out.terminal {
        out.note(&format!(
            "nothing is stored in {}",
            app.store.base().display()
        ));
    }
    let mut text = table(&listed, out.terminal);
    for one in &damaged {
        let (handle, why) = (one.handle, one.why.to_string());
        writeln!(text, "{handle} {}: {}", one.why.kind(), why.escape_debug())
            .expect("writing to a string");
    }
    out.raw(text.as_bytes())?;
    Ok(0)
}

fn table(listed: &[Listed], header: bool) -> String {
    let mut table = String::new();
    if header && !listed.is_empty() {
        writeln!(
            table,
            "{:<81} {:>8} {:>10} {:>9} {:<8} TOOL",
            "HANDLE", "AGE", "SIZE", "LINES", "KIND"
        )
        .expect("writing to a string");
    }
    let now = SystemClock.now();
    for one in listed {
        let facts = &one.manifest.facts;
        let age = facts.created.age_at(now).as_secs();
        let age = match age {
            0..60 => format!("{age}s"),
            60..3600 => format!("{}m", age / 60),
            3600..86_400 => format!("{}h", age / 3600),
            _ => format!("{}d", age / 86_400),
        };
        let pin = if one.manifest.pinned { " (pinned)" } else { "" };
        writeln!(
            table,
            "{:<81} {age:>8} {:>10} {:>9} {:<8} {}{pin}",
            one.manifest.handle.to_string(),
            ByteSize(facts.raw_bytes).to_string(),
            facts.stats.lines,
            facts.stats.kind.to_string(),
            facts.origin.tool.escape_debug(),
        )
        .expect("writing to a string");
    }
    table
}
