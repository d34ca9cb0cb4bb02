//! `spillgate cat`: prints the whole of a stored output.

use std::io::{self, IsTerminal, Read, Write};

use serde_json::json;
use spillgate_artifact::{Handle, ReadRange};
use spillgate_lookup::Artifact;
use spillgate_offload::Checked;
use spillgate_store::{Part, StoreError};
use spillgate_untrusted::marked;

use crate::args::Cat;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::wiring::App;

/// Bytes per write, 256 KiB: large enough not to slow down the checksum.
const BLOCK: usize = 256 << 10;

pub(crate) fn cat(app: &App, cat: &Cat, out: &Output) -> Result<u8, Failure> {
    let handle = app.handle(&cat.handle)?;
    if cat.raw {
        check_secrets(app, handle, out)?;
    } else {
        let artifact = app.offloader.artifact(handle)?;
        if artifact.is_redacted() {
            return redacted(&artifact, out);
        }
    }
    let stored = app.store.open(handle)?;
    let (part, bytes) = match cat.raw {
        true => (Part::Raw, stored.raw.len()),
        false => (Part::View, stored.view.len()),
    };
    let mut checked = Checked::new(&stored, part);
    // A reader may close the pipe once it has read enough. The checksum cannot be verified then.
    let mut is_read = false;
    let read = out.with(|to| {
        match out.json {
            true => {
                let head = json!({"handle": handle, "raw": cat.raw, "bytes": bytes});
                let head = head.to_string();
                write!(to, "{},\"text\":\"", head.trim_end_matches('}'))?;
                text(&mut checked, to)?;
                writeln!(to, "\"}}")?;
            }
            false if out.terminal && !cat.raw => to_terminal(&mut checked, to)?,
            false => copy(&mut checked, to)?,
        }
        is_read = true;
        Ok(())
    });
    read?;
    if is_read {
        checked.finish().map_err(|what| StoreError::Damaged {
            path: app.store.path_of(handle),
            what: format!("{what}; what was printed is not the original output"),
        })?;
    }
    Ok(0)
}

/// Fails if the output has secrets and no terminal shows that the user is there: a model's shell has
/// none. The setting `secrets.raw_anywhere` turns this check off.
pub(super) fn check_secrets(app: &App, handle: Handle, out: &Output) -> Result<(), Failure> {
    let is_user = out.terminal || io::stdin().is_terminal() || io::stderr().is_terminal();
    if is_user || app.settings.secrets.raw_anywhere {
        return Ok(());
    }
    let is_hidden = app.offloader.raw_has_secrets(handle)?;
    if !is_hidden {
        return Ok(());
    }
    let message = format!("the output {handle} has secrets, and this is no terminal");
    Err(Failure::new("secrets", Fault::Caller, message).hint(
        "leave out --raw to get the text with marks in place of the secrets, use a terminal, or set \
         raw_anywhere = true in [secrets]",
    ))
}

/// Prints the view of an output with secrets, with marks in their place.
fn redacted(artifact: &Artifact, out: &Output) -> Result<u8, Failure> {
    let view = artifact.view().source();
    let mut reader = ReadRange::whole(view);
    out.with(|to| match out.json {
        true => {
            let head = json!({
                "handle": artifact.manifest().handle,
                "raw": false,
                "bytes": view.len(),
                "redacted": true,
            });
            let head = head.to_string();
            write!(to, "{},\"text\":\"", head.trim_end_matches('}'))?;
            text(&mut reader, to)?;
            writeln!(to, "\"}}")
        }
        false if out.terminal => to_terminal(&mut reader, to),
        false => copy(&mut reader, to),
    })?;
    Ok(0)
}

/// Writes bytes unchanged.
pub(super) fn copy(reader: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        match reader.read(&mut block)? {
            0 => return Ok(()),
            n => to.write_all(&block[..n])?,
        }
    }
}

/// Writes text to a terminal and marks hidden characters. It works line by line, because whether a
/// character counts as hidden depends on its neighbours.
pub(super) fn to_terminal(reader: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    let mut waiting = Vec::new();
    each_block(reader, &mut |block| {
        waiting.extend_from_slice(block);
        let newline = memchr::memrchr(b'\n', &waiting).map(|at| at + 1);
        // A line that is longer than a block is written before its end is read, so that memory
        // stays bounded.
        let ends = newline.or((waiting.len() > BLOCK).then_some(waiting.len()));
        let lines: Vec<u8> = waiting.drain(..ends.unwrap_or(0)).collect();
        to.write_all(marked(&String::from_utf8_lossy(&lines)).as_bytes())
    })?;
    to.write_all(marked(&String::from_utf8_lossy(&waiting)).as_bytes())
}

/// Writes the inside of a JSON string, block by block. Bytes that are not UTF-8 become U+FFFD: JSON
/// cannot express them.
fn text(reader: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    each_block(reader, &mut |block| {
        let quoted = serde_json::to_string(&String::from_utf8_lossy(block))?;
        to.write_all(&quoted.as_bytes()[1..quoted.len() - 1])
    })
}

/// Calls `each` with the bytes, block by block; no block splits a character.
fn each_block(
    reader: &mut dyn Read,
    each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let (mut block, mut kept) = (vec![0; BLOCK], 0);
    loop {
        let n = reader.read(&mut block[kept..])?;
        let filled = kept + n;
        let bytes = &block[..filled];
        // A character that continues in the next block is carried over to it.
        let whole = match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_none() && n > 0 => error.valid_up_to(),
            _ => filled,
        };
        each(&bytes[..whole])?;
        if n == 0 {
            return Ok(());
        }
        block.copy_within(whole..filled, 0);
        kept = filled - whole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_marks_across_blocks() {
        let line = "漢字 \u{202e}x\u{1b}[31m 👩\u{200d}💻\n";
        let times = 3 * BLOCK / line.len();
        let (text, mut shown) = (line.repeat(times), Vec::new());
        to_terminal(&mut text.as_bytes(), &mut shown).unwrap();
        let want = "漢字 ⟨U+202E⟩x⟨U+001B⟩[31m 👩\u{200d}💻\n".repeat(times);
        assert_eq!(String::from_utf8(shown).unwrap(), want);
    }
}
