//! `spillgate cat`: a stored output, whole.

use std::io::{self, Read, Write};

use serde_json::json;
use spillgate_artifact::{ByteSource, ReadRange};
use spillgate_store::ArtifactStore;

use crate::args::Cat;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::House;

/// Bytes that are written at a time.
const BLOCK: usize = 64 << 10;

pub(crate) fn cat(house: &House, cat: &Cat, out: &Output) -> Result<u8, Failure> {
    let stored = house.store.open(cat.handle)?;
    let source = match cat.raw {
        true => stored.raw,
        false => stored.view,
    };
    if !out.json {
        out.with(|to| io::copy(&mut ReadRange::whole(&*source), to).map(drop))?;
        return Ok(0);
    }
    let head = json!({"handle": cat.handle, "raw": cat.raw, "bytes": source.len()}).to_string();
    out.with(|to| {
        write!(to, "{},\"text\":\"", head.trim_end_matches('}'))?;
        text(&*source, to)?;
        writeln!(to, "\"}}")
    })?;
    Ok(0)
}

/// The inside of a JSON string, block by block. What is not UTF-8 becomes
/// U+FFFD: JSON has no other way.
fn text(source: &dyn ByteSource, to: &mut dyn Write) -> io::Result<()> {
    let mut reader = ReadRange::whole(source);
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
