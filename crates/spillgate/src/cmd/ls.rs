//! `spillgate ls`: lists stored outputs.

use std::fmt::Write;
use std::ops::ControlFlow;

use serde_json::json;
use spillgate_artifact::{Clock, Ending, Facts, Manifest, SystemClock, Timestamp};
use spillgate_outline::grouped;
use spillgate_store::{Listed, Survey, Unreadable};
use spillgate_untrusted::line;

use crate::failure::Failure;
use crate::marks::redacted;
use crate::output::{Output, Paint};
use crate::store_args::Ls;
use crate::wiring::App;

/// Columns of the command or call if the width of the terminal is not known.
const CALL: usize = 80;

/// Fewest columns of the command or call.
const LEAST_CALL: usize = 12;

pub(crate) fn ls(app: &App, ls: &Ls, out: &Output) -> Result<u8, Failure> {
    let now = SystemClock.now();
    let (listed, mut damaged) = wanted(app, ls, now)?;
    damaged.reverse();
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
    let mut text = table(&listed, now, out);
    for one in &damaged {
        let (handle, why) = (one.handle, one.why.to_string());
        writeln!(text, "{handle} {}: {}", one.why.kind(), why.escape_debug())
            .expect("writing to a string");
    }
    out.raw(app.offloader.redacted(&text).as_bytes())?;
    let place = app.store.place();
    let is_limited = out.terminal && (ls.limit.is_some() || ls.is_filtered());
    let all = if is_limited || (out.terminal && listed.is_empty()) {
        app.store.count()?
    } else {
        listed.len()
    };
    if !app.store.exists() {
        out.note(&format!("there is no store in {place} yet"));
    } else if is_limited && listed.len() < all {
        out.note(&format!("{} of {all} outputs", listed.len()));
    } else if out.terminal && all == 0 {
        out.note(&format!(
            "nothing is stored in {place}; `spillgate run -- COMMAND` stores a large output"
        ));
    }
    Ok(0)
}

/// Returns the outputs that are asked for, newest first, and the damaged ones that were met.
fn wanted(app: &App, ls: &Ls, now: Timestamp) -> Result<(Vec<Listed>, Vec<Unreadable>), Failure> {
    if ls.limit.is_none() && ls.since.is_none() {
        let Survey {
            mut listed,
            damaged,
        } = app.store.survey()?;
        listed.retain(|one| is_wanted(&one.manifest.facts, ls, now));
        listed.reverse();
        return Ok((listed, damaged));
    }
    let most = ls.limit.unwrap_or(usize::MAX);
    let mut listed = Vec::new();
    let damaged = app.store.newest(&mut |one| {
        let facts = &one.manifest.facts;
        // All that follow are older.
        let is_older = ls
            .since
            .is_some_and(|since| facts.created.age_at(now) > since);
        if is_older || listed.len() >= most {
            return ControlFlow::Break(());
        }
        if is_wanted(facts, ls, now) {
            listed.push(one);
        }
        match listed.len() < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    Ok((listed, damaged))
}

fn is_wanted(facts: &Facts, ls: &Ls, now: Timestamp) -> bool {
    let origin = &facts.origin;
    let server = origin.server.as_deref().unwrap_or_default();
    let has =
        |part: &Option<String>, text: &str| part.as_ref().is_none_or(|part| text.contains(part));
    has(&ls.tool, &origin.tool)
        && has(&ls.server, server)
        && (ls.kind.as_ref()).is_none_or(|kind| facts.stats.kind.to_string() == *kind)
        && (!ls.failed || is_failure(facts))
        && ls
            .since
            .is_none_or(|since| facts.created.age_at(now) <= since)
}

/// Returns whether the command or the call failed.
fn is_failure(facts: &Facts) -> bool {
    facts.has_failed()
}

fn table(listed: &[Listed], now: Timestamp, out: &Output) -> String {
    let handles = listed.iter().map(|one| one.manifest.handle.to_string());
    let width = handles.map(|handle| handle.len()).max().unwrap_or(0);
    let rows: Vec<[String; 4]> = listed
        .iter()
        .map(|one| cells(&one.manifest.facts, now))
        .collect();
    let widths: [usize; 4] = std::array::from_fn(|at| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.max().unwrap_or(0).max(TITLES[at].len())
    });
    let before = width + widths.iter().sum::<usize>() + 5;
    let room = out
        .width()
        .map_or(CALL, |all| all.saturating_sub(before).max(LEAST_CALL));
    let paint = |paint, text: &str| out.painter.paint(paint, text);
    let laid = |[age, tokens, kind, ended]: &[String; 4]| {
        let [a, t, k, e] = widths;
        [
            format!("{age:>a$}"),
            format!("{tokens:>t$}"),
            format!("{kind:<k$}"),
            format!("{ended:<e$}"),
        ]
    };
    let mut table = String::new();
    if out.terminal && !listed.is_empty() {
        let [age, tokens, kind, ended] = laid(&TITLES.map(str::to_owned));
        let titles = format!(
            "{:<width$} {age} {tokens} {kind} {ended} COMMAND OR TOOL",
            "HANDLE"
        );
        writeln!(table, "{}", paint(Paint::Faint, &titles)).expect("writing to a string");
    }
    for (one, row) in listed.iter().zip(&rows) {
        let facts = &one.manifest.facts;
        let [age, tokens, kind, ended] = laid(row);
        let how = match (is_failure(facts), facts.ending) {
            (true, _) => Paint::Bad,
            (false, Some(_)) => Paint::Good,
            (false, None) => Paint::Faint,
        };
        let handle = format!("{:<width$}", one.manifest.handle.to_string());
        writeln!(
            table,
            "{} {age} {tokens} {} {} {}",
            paint(Paint::Name, &handle),
            paint(Paint::Faint, &kind),
            paint(how, &ended),
            called(&one.manifest, room),
        )
        .expect("writing to a string");
    }
    table
}

const TITLES: [&str; 4] = ["AGE", "TOKENS", "KIND", "ENDED"];

/// Returns the age of an output as a number and a unit.
pub(crate) fn age(facts: &Facts, now: Timestamp) -> String {
    match facts.created.age_at(now).as_secs() {
        age @ 0..60 => format!("{age}s"),
        age @ 60..3600 => format!("{}m", age / 60),
        age @ 3600..86_400 => format!("{}h", age / 3600),
        age => format!("{}d", age / 86_400),
    }
}

/// Returns age, tokens, kind, and how it ended.
fn cells(facts: &Facts, now: Timestamp) -> [String; 4] {
    let tokens = facts.stats.tokens;
    let about = if tokens.exact { "" } else { "≈" };
    let ended = match facts.ending {
        Some(Ending {
            exit_code: Some(code),
            ..
        }) => format!("exit {code}"),
        Some(Ending {
            signal: Some(signal),
            ..
        }) => format!("signal {signal}"),
        _ if facts.is_error => "error".to_owned(),
        _ => "-".to_owned(),
    };
    [
        age(facts, now),
        format!("{about}{}", grouped(tokens.count)),
        facts.stats.kind.to_string(),
        ended,
    ]
}

/// Returns the command line, or the tool and its arguments, on one line of at most `most`
/// characters.
pub(crate) fn called(manifest: &Manifest, most: usize) -> String {
    let origin = &manifest.facts.origin;
    let arguments = origin.arguments.as_deref().unwrap_or_default();
    let is_command_line = manifest.facts.ending.is_some() && !arguments.starts_with(['{', '[']);
    let call = match (&origin.server, is_command_line && !arguments.is_empty()) {
        (Some(server), _) => format!("{server}/{} {arguments}", origin.tool),
        (None, true) => arguments.to_owned(),
        // The arguments of `put` are the path of a file, and the tool is its name.
        (None, false) if arguments.ends_with(&origin.tool) => arguments.to_owned(),
        (None, false) => format!("{} {arguments}", origin.tool),
    };
    let pin = if manifest.pinned { "(pinned) " } else { "" };
    // A secret is marked before the text is cut, because no rule finds a part of one.
    line(&format!("{pin}{}", redacted(&call)), most)
}
