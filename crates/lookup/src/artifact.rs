//! Opens a stored artifact for lookups.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spillgate_artifact::{
    ByteSource, Interrupt, Interruptible, Layout, Manifest, RawForm, TextPart,
};
use spillgate_store::Stored;
use spillgate_text::{JsonText, LineIndex, Transcoded, View, raw_range};

use crate::LookupError;

/// A stored artifact, opened together with its view.
#[derive(Debug)]
pub struct Artifact {
    manifest: Manifest,
    raw: Arc<dyn ByteSource>,
    view: View,
    file: Option<PathBuf>,
    /// Ends reads.
    interrupt: Option<Interrupt>,
}

impl Artifact {
    /// Opens an artifact that a store returned.
    pub fn open(stored: Stored) -> Result<Self, LookupError> {
        let index = LineIndex::from_bytes(&stored.index)?;
        let layout = stored.manifest.facts.view.layout;
        Ok(Self {
            view: View::new(stored.view, index, layout),
            raw: stored.raw,
            file: stored.file,
            manifest: stored.manifest,
            interrupt: None,
        })
    }

    /// Opens an artifact. Reads of it fail once `interrupt` is due.
    pub fn open_until(stored: Stored, interrupt: &Interrupt) -> Result<Self, LookupError> {
        let until = |source| -> Arc<dyn ByteSource> {
            Arc::new(Interruptible::new(source, interrupt.clone()))
        };
        let opened = Self::open(Stored {
            raw: until(stored.raw),
            view: until(stored.view),
            ..stored
        })?;
        Ok(Self {
            interrupt: Some(interrupt.clone()),
            ..opened
        })
    }

    /// Returns what ends reads of the artifact, if anything does.
    pub(crate) fn interrupt(&self) -> Option<&Interrupt> {
        self.interrupt.as_ref()
    }

    /// Returns an artifact with the same interrupt for a part of this one's text.
    pub(crate) fn with_text(
        &self,
        manifest: Manifest,
        raw: Arc<dyn ByteSource>,
        view: View,
    ) -> Self {
        Self {
            manifest,
            raw,
            view,
            file: None,
            interrupt: self.interrupt.clone(),
        }
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the file that contains the text and that other programs can open, if there is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the view, which is the readable text.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns the bytes as they arrived.
    #[must_use]
    pub fn raw(&self) -> &dyn ByteSource {
        &*self.raw
    }

    /// Returns the text as it arrived: the raw bytes, or the text decoded from them.
    pub fn text(&self) -> io::Result<Arc<dyn ByteSource>> {
        match &self.manifest.facts.form {
            RawForm::Plain => Ok(Arc::clone(&self.raw)),
            RawForm::Parts(parts) => Ok(Arc::new(self.decoded(parts)?)),
            RawForm::Encoded { encoding, mark } => Ok(Arc::new(self.transcoded(encoding, *mark)?)),
        }
    }

    /// Returns the text that is in `parts` of the raw bytes.
    fn decoded(&self, parts: &[TextPart]) -> io::Result<JsonText> {
        JsonText::new(Arc::clone(&self.raw), parts, &mut |_| {})
    }

    /// Returns the text that the raw bytes contain in the encoding `encoding`.
    fn transcoded(&self, encoding: &str, mark: u64) -> io::Result<Transcoded> {
        Transcoded::new(Arc::clone(&self.raw), encoding, mark, &mut |_| {})
    }

    /// Returns the range `start..end` of the raw bytes that the 1-based view line `line` was made
    /// from; `None` for a line after the last one.
    pub fn raw_range(&self, line: u64) -> io::Result<Option<(u64, u64)>> {
        let facts = &self.manifest.facts.view;
        match &self.manifest.facts.form {
            RawForm::Plain => {
                let same = if facts.is_raw {
                    u64::MAX
                } else {
                    facts.prelude
                };
                raw_range(&self.view, &*self.raw, same, line)
            }
            RawForm::Parts(parts) => {
                let text = self.decoded(parts)?;
                let found = self.range_in(&text, line)?;
                let place = |(start, end)| Ok((text.raw_at(start)?, text.raw_at(end)?));
                found.map(place).transpose()
            }
            RawForm::Encoded { encoding, mark } => {
                let text = self.transcoded(encoding, *mark)?;
                let found = self.range_in(&text, line)?;
                let place = |(start, end)| Ok((text.raw_at(start)?, text.raw_at(end)?));
                found.map(place).transpose()
            }
        }
    }

    /// Returns the range of `text` that a view line was made from. `text` was decoded from the raw
    /// bytes.
    fn range_in(&self, text: &dyn ByteSource, line: u64) -> io::Result<Option<(u64, u64)>> {
        let facts = &self.manifest.facts.view;
        let is_same = facts.layout != Layout::Json && same_bytes(text, self.view.source())?;
        let same = if is_same { u64::MAX } else { facts.prelude };
        raw_range(&self.view, text, same, line)
    }
}

/// Returns whether two sources have the same bytes.
fn same_bytes(one: &dyn ByteSource, other: &dyn ByteSource) -> io::Result<bool> {
    /// Number of bytes that are compared at a time.
    const BLOCK: u64 = 1 << 20;
    if one.len() != other.len() {
        return Ok(false);
    }
    let mut at = 0;
    while at < one.len() {
        if one.bytes(at, at + BLOCK)? != other.bytes(at, at + BLOCK)? {
            return Ok(false);
        }
        at += BLOCK;
    }
    Ok(true)
}

#[cfg(test)]
pub(crate) mod tests {
    use spillgate_artifact::HandleForm;
    use spillgate_store::conformance::facts_of;
    use spillgate_store::{ArtifactStore, MemoryStore, Part};
    use spillgate_text::Indexer;

    use super::*;

    /// Returns an artifact of clean text.
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
        let receipt = draft
            .commit(facts, &index.to_bytes(), HandleForm::Short)
            .unwrap();
        Artifact::open(store.open(receipt.handle()).unwrap()).unwrap()
    }

    /// Returns an artifact of any bytes. Its manifest contains the number of characters.
    pub(crate) fn artifact_of(bytes: &[u8]) -> Artifact {
        let store = MemoryStore::default();
        let mut indexer = Indexer::as_is(Layout::AsIs);
        indexer.feed(bytes);
        let mut facts = facts_of(bytes);
        facts.stats.chars = String::from_utf8_lossy(bytes).chars().count() as u64;
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, bytes).unwrap();
        let index = indexer.finish().to_bytes();
        let receipt = draft.commit(facts, &index, HandleForm::Short).unwrap();
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
        let receipt = draft
            .commit(facts, &indexer.finish().to_bytes(), HandleForm::Short)
            .unwrap();
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
