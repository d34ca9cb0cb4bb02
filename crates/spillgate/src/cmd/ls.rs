//! `spillgate ls`: lists stored outputs.

use std::fmt::Write;

use bytesize::ByteSize;
use serde_json::json;
use spillgate_artifact::{Clock, Ending, SystemClock};
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
            // The arguments of a call can contain secrets.
            out.raw(app.offloader.redacted(&format!("{object}\n")).as_bytes())?;
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
    out.raw(app.offloader.redacted(&text).as_bytes())?;
    Ok(0)
}

fn table(listed: &[Listed], header: bool) -> String {
    let mut table = String::new();
    let widths = listed
        .iter()
        .map(|one| one.manifest.handle.to_string().len());
    let width = widths.max().unwrap_or(0);
    if header && !listed.is_empty() {
        writeln!(
            table,
            "{:<width$} {:>8} {:>10} {:>9} {:<8} {:<9} TOOL",
            "HANDLE", "AGE", "SIZE", "LINES", "KIND", "ENDED"
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
        let ended = match (facts.ending, facts.is_error) {
            (
                Some(Ending {
                    exit_code: Some(code),
                    ..
                }),
                _,
            ) => format!("exit {code}"),
            (
                Some(Ending {
                    signal: Some(signal),
                    ..
                }),
                _,
            ) => format!("signal {signal}"),
            (_, true) => "error".to_owned(),
            _ => "-".to_owned(),
        };
        let pin = if one.manifest.pinned { " (pinned)" } else { "" };
        writeln!(
            table,
            "{:<width$} {age:>8} {:>10} {:>9} {:<8} {ended:<9} {}{pin}",
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
