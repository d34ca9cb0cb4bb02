//! A stored artifact, opened for looking into.

use std::io;
use std::sync::Arc;

use spillgate_artifact::{ByteSource, Layout, Manifest, RawForm, TextPart};
use spillgate_store::Stored;
use spillgate_view::{LineIndex, View, decode_json_string, raw_offset, raw_range};

use crate::LookupError;

/// A stored artifact with its view.
#[derive(Debug)]
pub struct Artifact {
    manifest: Manifest,
    raw: Arc<dyn ByteSource>,
    view: View,
}

impl Artifact {
    /// Opens what a store gave.
    pub fn open(stored: Stored) -> Result<Self, LookupError> {
        let index = LineIndex::from_bytes(&stored.index)?;
        let layout = stored.manifest.facts.view.layout;
        Ok(Self {
            view: View::new(stored.view, index, layout),
            raw: stored.raw,
            manifest: stored.manifest,
        })
    }

    /// What is known of it.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its readable text.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// What came in.
    #[must_use]
    pub fn raw(&self) -> &dyn ByteSource {
        &*self.raw
    }

    /// The text as it came in: the raw bytes, or what lies in their parts.
    pub fn text(&self) -> io::Result<Arc<dyn ByteSource>> {
        match &self.manifest.facts.form {
            RawForm::Plain => Ok(Arc::clone(&self.raw)),
            RawForm::Parts(parts) => {
                let parts = Part::load_all(&*self.raw, parts)?;
                Ok(Arc::new(joined(&parts).into_bytes()))
            }
        }
    }

    /// The raw bytes `start..end` that the 1-based view `line` was made from;
    /// `None` for a line past the last.
    pub fn raw_range(&self, line: u64) -> io::Result<Option<(u64, u64)>> {
        let facts = &self.manifest.facts.view;
        let same = |is_same| if is_same { u64::MAX } else { facts.prelude };
        match &self.manifest.facts.form {
            RawForm::Plain => raw_range(&self.view, &*self.raw, same(facts.is_raw), line),
            RawForm::Parts(parts) => {
                let parts = Part::load_all(&*self.raw, parts)?;
                let text = joined(&parts).into_bytes();
                let is_same = facts.layout != Layout::Json
                    && text == self.view.source().bytes(0, u64::MAX)?;
                let found = raw_range(&self.view, &text, same(is_same), line)?;
                let place = |offset| place(&parts, offset);
                Ok(found.map(|(start, end)| (place(start), place(end))))
            }
        }
    }
}

/// A part of the raw bytes with the text that it holds.
struct Part {
    start: u64,
    raw: Vec<u8>,
    text: String,
    is_string: bool,
}

impl Part {
    /// Such results came through memory, so they fit into it.
    fn load_all(source: &dyn ByteSource, parts: &[TextPart]) -> io::Result<Vec<Self>> {
        let loaded = parts.iter().map(|part| Self::load(source, *part));
        loaded.collect()
    }

    fn load(source: &dyn ByteSource, part: TextPart) -> io::Result<Self> {
        let raw = source.bytes(part.start, part.end)?;
        let text = match part.is_string {
            true => {
                // With the quotes that stand around it.
                let quoted = source.bytes(part.start.saturating_sub(1), part.end + 1)?;
                decode_json_string(&quoted).unwrap_or_default()
            }
            false => String::from_utf8_lossy(&raw).into_owned(),
        };
        Ok(Self {
            start: part.start,
            raw,
            text,
            is_string: part.is_string,
        })
    }
}

fn joined(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    texts.join("\n")
}

/// The raw byte at which byte `offset` of the joined texts is written.
fn place(parts: &[Part], offset: u64) -> u64 {
    let mut before = 0;
    for part in parts {
        let length = part.text.len() as u64;
        if offset <= before + length {
            let within = offset - before;
            return part.start
                + match part.is_string {
                    true => raw_offset(&part.raw, within),
                    false => within,
                };
        }
        before += length + 1; // the newline that joins
    }
    parts
        .last()
        .map_or(0, |part| part.start + part.raw.len() as u64)
}

#[cfg(test)]
pub(crate) mod tests {
    use spillgate_store::conformance::facts_of;
    use spillgate_store::{ArtifactStore, MemoryStore, Part};
    use spillgate_view::Indexer;

    use super::*;

    /// An artifact of clean text.
    pub(crate) fn artifact(text: &str) -> Artifact {
        artifact_as(text, Layout::AsIs)
    }

    pub(crate) fn artifact_as(text: &str, layout: Layout) -> Artifact {
        let store = MemoryStore::default();
        let mut indexer = Indexer::as_is(layout);
        indexer.feed(text.as_bytes());
        let index = indexer.finish();
        let mut facts = facts_of(text.as_bytes());
        facts.view.layout = layout;
        facts.view.longest_line = index.longest_line;
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, text.as_bytes()).unwrap();
        let receipt = draft.commit(facts, &index.to_bytes()).unwrap();
        Artifact::open(store.open(receipt.handle()).unwrap()).unwrap()
    }

    /// An artifact of any bytes, its characters counted.
    pub(crate) fn artifact_of(bytes: &[u8]) -> Artifact {
        let store = MemoryStore::default();
        let mut indexer = Indexer::as_is(Layout::AsIs);
        indexer.feed(bytes);
        let mut facts = facts_of(bytes);
        facts.stats.chars = String::from_utf8_lossy(bytes).chars().count() as u64;
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, bytes).unwrap();
        let index = indexer.finish().to_bytes();
        let receipt = draft.commit(facts, &index).unwrap();
        Artifact::open(store.open(receipt.handle()).unwrap()).unwrap()
    }

    #[test]
    fn lines_of_json_strings_lead_back_to_the_json() {
        let raw = br#"{"content":[{"text":"a\nb\u00e9\n"},{"text":"c"}]}"#;
        let store = MemoryStore::default();
        let mut facts = facts_of(raw);
        let part = |text: &[u8]| {
            let quoted = [b"\"", text, b"\""].concat();
            let at = raw.windows(quoted.len()).position(|w| w == quoted);
            let start = at.unwrap() as u64 + 1;
            TextPart {
                start,
                end: start + text.len() as u64,
                is_string: true,
            }
        };
        facts.form = RawForm::Parts(vec![part(br"a\nb\u00e9\n"), part(b"c")]);
        facts.view.is_raw = false;
        let text = "a\nbé\n\nc";
        let mut indexer = Indexer::made(Layout::AsIs);
        indexer.feed(text.as_bytes());
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, raw).unwrap();
        draft.write(Part::View, text.as_bytes()).unwrap();
        let receipt = draft.commit(facts, &indexer.finish().to_bytes()).unwrap();
        let artifact = Artifact::open(store.open(receipt.handle()).unwrap()).unwrap();
        let shown = |line| {
            let (start, end) = artifact.raw_range(line).unwrap().unwrap();
            String::from_utf8(artifact.raw().bytes(start, end).unwrap()).unwrap()
        };
        assert_eq!(shown(1), r"a\n");
        assert_eq!(shown(2), r"b\u00e9\n");
        assert_eq!(shown(4), "c");
    }
}
