//! `spillgate rm`: removes stored outputs.

use std::io::{self, BufRead, IsTerminal};
use std::time::Duration;

use bytesize::ByteSize;
use serde_json::json;
use spillgate_artifact::{Clock, Handle, SystemClock};
use spillgate_store::{Gone, Survey};

use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::store_args::Rm;
use crate::wiring::App;

pub(crate) fn rm(app: &App, rm: &Rm, out: &Output) -> Result<u8, Failure> {
    let is_list = rm.all || rm.older_than.is_some();
    let chosen = if is_list {
        chosen(app, rm.older_than, rm.pinned)?
    } else {
        let mut chosen = Chosen::default();
        for typed in &rm.handles {
            let handle = app.handle(typed)?;
            // An output can be named in several ways.
            if !chosen.handles.contains(&handle) {
                chosen.handles.push(handle);
            }
        }
        chosen
    };
    let count = chosen.handles.len();
    if rm.all && !rm.yes && count > 0 {
        let plural = if count == 1 { "" } else { "s" };
        let what = format!("{count} stored output{plural} ({})", ByteSize(chosen.bytes));
        if !is_confirmed(&what, out)? {
            out.note("nothing was removed");
            return Ok(1);
        }
    }
    for &handle in &chosen.handles {
        app.store.remove(handle, Gone::Removed, SystemClock.now())?;
        if out.json {
            out.object(&json!({"removed": handle}))?;
        }
    }
    if !out.json && (is_list || out.terminal) {
        let size = match is_list {
            true => format!(", {}", ByteSize(chosen.bytes)),
            false => String::new(),
        };
        let pinned = match chosen.pinned {
            0 => String::new(),
            pinned => format!("; {pinned} pinned were kept (--pinned removes them, too)"),
        };
        let what = match *chosen.handles {
            [handle] => format!("{handle}"),
            _ => format!("{count} outputs"),
        };
        out.note(&format!("removed {what}{size}{pinned}"));
    }
    Ok(0)
}

/// The outputs to remove.
#[derive(Debug, Default)]
struct Chosen {
    handles: Vec<Handle>,
    bytes: u64,
    /// Outputs that are kept because they are pinned.
    pinned: usize,
}

/// Returns all outputs that were stored longer ago than `age`. Without an age also those that are
/// damaged, so that nothing is left.
fn chosen(app: &App, age: Option<Duration>, with_pinned: bool) -> Result<Chosen, Failure> {
    let (now, mut chosen) = (SystemClock.now(), Chosen::default());
    let Survey { listed, damaged } = app.store.survey()?;
    for one in listed {
        let is_old = age.is_none_or(|age| one.manifest.facts.created.age_at(now) > age);
        if is_old && one.manifest.pinned && !with_pinned {
            chosen.pinned += 1;
        } else if is_old {
            chosen.handles.push(one.manifest.handle);
            chosen.bytes += one.bytes;
        }
    }
    for one in damaged {
        if age.is_none_or(|age| one.used.age_at(now) > age) {
            chosen.handles.push(one.handle);
            chosen.bytes += one.bytes;
        }
    }
    Ok(chosen)
}

/// Asks the user at a terminal. Fails if there is none.
fn is_confirmed(what: &str, out: &Output) -> Result<bool, Failure> {
    if out.json || !io::stdin().is_terminal() {
        let message = format!("this would remove {what}");
        return Err(Failure::new("usage", Fault::Caller, message)
            .hint("--yes removes them without asking")
            .code(2));
    }
    out.ask(&format!("remove {what}? [y/N] "));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
