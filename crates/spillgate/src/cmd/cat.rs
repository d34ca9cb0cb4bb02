//! `spillgate cat`: a stored output, whole.

use std::io::{self, Read, Write};

use serde_json::json;
use spillgate_offload::Checked;
use spillgate_store::{ArtifactStore, Part, StoreError};

use crate::args::Cat;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::House;

/// Bytes that are written at a time: enough that the sum over them is not held up.
const BLOCK: usize = 256 << 10;

pub(crate) fn cat(house: &House, cat: &Cat, out: &Output) -> Result<u8, Failure> {
    let stored = house.store.open(cat.handle)?;
    let (part, bytes) = match cat.raw {
        true => (Part::Raw, stored.raw.len()),
        false => (Part::View, stored.view.len()),
    };
    let mut checked = Checked::new(&stored, part);
    // A reader that has gone has read what it wanted; what it left is not summed up.
    let mut is_read = false;
    let read = out.with(|to| {
        match out.json {
            true => {
                let head = json!({"handle": cat.handle, "raw": cat.raw, "bytes": bytes});
                let head = head.to_string();
                write!(to, "{},\"text\":\"", head.trim_end_matches('}'))?;
                text(&mut checked, to)?;
                writeln!(to, "\"}}")?;
            }
            false => copy(&mut checked, to)?,
        }
        is_read = true;
        Ok(())
    });
    read?;
    if is_read {
        checked.finish().map_err(|what| StoreError::Damaged {
            path: house.store.base().join(cat.handle.to_string()),
            what: format!("{what}; what was printed is not what was stored"),
        })?;
    }
    Ok(0)
}

fn copy(reader: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        match reader.read(&mut block)? {
            0 => return Ok(()),
            n => to.write_all(&block[..n])?,
        }
    }
}

/// The inside of a JSON string, block by block. What is not UTF-8 becomes
/// U+FFFD: JSON has no other way.
fn text(reader: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    let (mut block, mut kept) = (vec![0; BLOCK], 0);
    loop {
        let n = reader.read(&mut block[kept..])?;
        let filled = kept + n;
        let bytes = &block[..filled];
        // A character that goes on in the next block waits for it.
        let whole = match std::str::from_utf8(bytes) {
            Err(error) if error.error_len().is_none() && n > 0 => error.valid_up_to(),
            _ => filled,
        };
        let quoted = serde_json::to_string(&String::from_utf8_lossy(&bytes[..whole]))?;
        to.write_all(&quoted.as_bytes()[1..quoted.len() - 1])?;
        if n == 0 {
            return Ok(());
        }
        block.copy_within(whole..filled, 0);
        kept = filled - whole;
    }
}
