//! Decodes results whose text is not UTF-8, detecting the encoding from their bytes.

use std::io;
use std::sync::Arc;

use spillgate_artifact::{ByteSource, RawForm};
use spillgate_store::StoreError;
use spillgate_text::{
    Encoding, Indexer, SAMPLE_BYTES, Sample, Scan, ScanFacts, Transcoded, classify,
};

use crate::capture::{Captured, Raw, Text};
use crate::sanitize::{layout_of, unreadable};

/// Bytes scanned at a time.
const BLOCK: u64 = 64 << 10;

/// Decodes a result in another encoding. Afterwards the decoded text is its text, to which all
/// counts and limits refer. Its raw bytes stay unchanged.
pub(crate) fn decode(captured: &mut Captured) -> Result<(), StoreError> {
    let is_utf8 = captured.scan.invalid == 0 && !captured.head.contains(&0);
    if is_utf8 || captured.form != RawForm::Plain || captured.text.is_some() {
        return Ok(());
    }
    let Some(raw) = captured.text()? else {
        return Ok(()); // lost
    };
    let decoded = decoded(captured, raw).map_err(|error| unreadable(&error))?;
    if let Some(decoded) = decoded {
        captured.form = decoded.form;
        captured.text = Some(decoded.text);
        captured.scan = decoded.scan.finish();
        captured.index = decoded.indexer.finish();
        captured.head = decoded.head;
        captured.kind = classify(captured.sample());
    }
    Ok(())
}

/// A decoded text.
struct Decoded {
    form: RawForm,
    text: Text,
    scan: Scan,
    indexer: Indexer,
    head: Vec<u8>,
}

fn decoded(captured: &Captured, raw: Arc<dyn ByteSource>) -> io::Result<Option<Decoded>> {
    let Some(encoding) = encoding(captured, &*raw)? else {
        return Ok(None);
    };
    let Some(other) = encoding.other() else {
        return Ok(None);
    };
    if !other.name().starts_with("UTF-16") && is_utf8(captured.scan) {
        return Ok(None);
    }
    let head = encoding.decode(&captured.head, 0).text;
    let head = head.trim_end_matches('\u{fffd}'); // a character cut in two
    let head = &head.as_bytes()[..head.floor_char_boundary(SAMPLE_BYTES)];
    let layout = layout_of(classify(Sample {
        head,
        complete: raw.len() <= captured.head.len() as u64,
    }));
    let (mut scan, mut indexer) = (Scan::default(), Indexer::as_is(layout));
    let mut whole = matches!(captured.raw, Raw::Memory(_)).then(Vec::new);
    let mut each = |block: &[u8]| {
        scan.feed(block);
        indexer.feed(block);
        if let Some(whole) = &mut whole {
            whole.extend_from_slice(block);
        }
    };
    let text = Transcoded::new(raw, other.name(), encoding.mark(), &mut each)?;
    Ok(Some(Decoded {
        form: RawForm::Encoded {
            encoding: other.name().to_owned(),
            mark: encoding.mark(),
        },
        head: match &whole {
            Some(whole) => whole[..whole.len().min(SAMPLE_BYTES)].to_vec(),
            None => head.to_vec(),
        },
        text: match whole {
            Some(whole) => Text::Memory(whole.into()),
            None => Text::Transcoded(Arc::new(text)),
        },
        scan,
        indexer,
    }))
}

/// Returns whether a text is UTF-8 with some invalid bytes, whatever its start looks like: valid
/// multi-byte characters must have more continuation bytes than there are invalid sequences. In
/// text in an older encoding, few byte sequences happen to be valid UTF-8.
fn is_utf8(scan: ScanFacts) -> bool {
    scan.bytes - scan.chars > scan.invalid
}

/// Detects the encoding from the first bytes; if these are ASCII, from the first line that is not.
fn encoding(captured: &Captured, raw: &dyn ByteSource) -> io::Result<Option<Encoding>> {
    if !captured.head.is_ascii() || captured.head.contains(&0) {
        return Ok(Encoding::of(captured.sample()).ok());
    }
    let mut at = captured.head.len() as u64;
    while at < raw.len() {
        let block = raw.bytes(at, raw.len().min(at + BLOCK))?;
        let Some(odd) = block.iter().position(|byte| !byte.is_ascii()) else {
            at += (block.len() as u64).max(1);
            continue;
        };
        let line = memchr::memrchr(b'\n', &block[..odd]).map_or(0, |newline| newline + 1);
        let start = at + line as u64;
        let end = raw.len().min(start + SAMPLE_BYTES as u64);
        let head = raw.bytes(start, end)?;
        let complete = end == raw.len();
        let sample = Sample {
            head: &head,
            complete,
        };
        return Ok(Encoding::of(sample).ok());
    }
    Ok(None)
}
