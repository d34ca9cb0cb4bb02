//! Opens a stored artifact for lookups.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use spillgate_artifact::{
    ByteSource, Interrupt, Interruptible, Layout, Manifest, RawForm, ReadRange, TextPart, ViewFacts,
};
use spillgate_redact::{Findings, RedactedSource, Redactor};
use spillgate_store::{Derived, Stored};
use spillgate_text::{Indexer, JsonText, Scan, Transcoded, View, raw_range};

use crate::LookupError;
use crate::derived::{Derivation, Marked, Searched};
use crate::stored_index::StoredIndex;

/// Bytes read at a time while the lines of a redacted view are counted.
const BLOCK: usize = 256 << 10;

/// Maximum bytes of a view that is read into memory for a look-up. Many look-ups may run at once.
const HELD: u64 = 2 << 20;

/// A stored artifact, opened together with its view.
#[derive(Debug)]
pub struct Artifact {
    manifest: Manifest,
    raw: Arc<dyn ByteSource>,
    view: View,
    /// What the scan for secrets found when the artifact was stored.
    secrets: Option<Arc<Findings>>,
    /// Set if the view shows marks in place of secrets.
    redacted: Option<Redacted>,
    /// What looked for secrets in the view, and looks for them in the texts inside it; `None` if
    /// secrets are shown.
    redactor: Option<Arc<Redactor>>,
    file: Option<PathBuf>,
    /// The place for what is computed from the artifact; `None` for a text inside another.
    derived: Option<Arc<dyn Derived>>,
    /// The secrets found now in an artifact that nobody had searched.
    newly_found: Option<Arc<Findings>>,
    /// Ends reads.
    interrupt: Option<Interrupt>,
    is_shared: bool,
}

/// The texts behind a redacted view.
#[derive(Debug)]
struct Redacted {
    /// The view with the secrets.
    original: View,
    /// The figures of that view.
    facts: ViewFacts,
    /// The text of the redacted view.
    text: Arc<RedactedSource>,
}

impl Artifact {
    /// Opens an artifact that a store returned.
    pub fn open(mut stored: Stored) -> Result<Self, LookupError> {
        if stored.is_shared {
            // Whatever reads the raw bytes of this artifact reads its view.
            stored.raw = Arc::clone(&stored.view);
            stored.manifest.facts.form = RawForm::Plain;
            stored.manifest.facts.view.is_raw = true;
        }
        let index = StoredIndex::from_bytes(&stored.index)?;
        let layout = stored.manifest.facts.view.layout;
        Ok(Self {
            view: View::new(stored.view, index.lines, layout),
            secrets: index.secrets,
            redacted: None,
            redactor: None,
            raw: stored.raw,
            file: stored.file,
            derived: stored.derived,
            newly_found: None,
            manifest: stored.manifest,
            interrupt: None,
            is_shared: stored.is_shared,
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

    /// Returns the artifact with marks in place of the secrets in its view, so that no look-up can
    /// show, match or count them. Uses what the scan found when the artifact was stored, or what an
    /// earlier look-up found, if it used the same rules; otherwise scans the view now and keeps what
    /// it finds for the next look-up.
    ///
    /// # Errors
    ///
    /// Fails if the view cannot be read, or if it has more secrets than can be marked.
    pub fn redacted(mut self, redactor: &Arc<Redactor>) -> Result<Self, LookupError> {
        if self.redacted.is_some() {
            return Ok(self);
        }
        self.redactor = Some(Arc::clone(redactor));
        let recorded = self.manifest.facts.secrets.as_ref();
        let is_current = recorded.is_some_and(|secrets| secrets.rules == redactor.rules_id());
        let is_clean = recorded.is_some_and(|secrets| secrets.found.is_empty());
        let stored = self.secrets.take().filter(|_| is_current);
        if stored.is_none() && is_current && is_clean {
            return Ok(self);
        }
        let mut derived = self.derivation(redactor.rules().fingerprint());
        let findings = if let Some(findings) = stored {
            findings
        } else {
            let searched = self.searched(&mut derived, redactor)?;
            // Without findings, the secrets are in parts of the text that the view leaves out.
            if searched.findings.is_empty() && !searched.beside {
                return Ok(self);
            }
            searched.findings
        };
        if findings.is_too_many() {
            let handle = self.manifest.handle;
            return Err(LookupError::TooManySecrets { handle });
        }
        let text = redactor.source(Arc::clone(self.view.shared()), findings)?;
        Ok(self.with_text_of(Arc::new(text), derived)?)
    }

    /// Returns what earlier look-ups by the same rules computed from the view.
    fn derivation(&self, rules: u64) -> Derivation {
        let bytes = self.view.bytes();
        let kept = self.derived.as_ref().and_then(|derived| derived.read());
        let kept = kept.and_then(|kept| Derivation::from_bytes(&kept));
        let kept = kept.filter(|kept| kept.rules == rules && kept.bytes == bytes);
        kept.unwrap_or(Derivation {
            rules,
            bytes,
            searched: None,
            marked: None,
        })
    }

    /// Keeps what was computed. If the store takes nothing, the next look-up computes it again.
    fn keep(&self, derived: &Derivation) {
        if let Some(place) = &self.derived {
            drop(place.keep(&derived.to_bytes()));
        }
    }

    /// Returns the secrets that an earlier look-up found in the view, or finds them.
    fn searched(
        &mut self,
        derived: &mut Derivation,
        redactor: &Redactor,
    ) -> Result<Searched, LookupError> {
        if let Some(searched) = &derived.searched {
            return Ok(searched.clone());
        }
        let findings = Arc::new(redactor.find(self.view.source())?);
        let beside = findings.is_empty() && self.leaves_out_secrets(redactor)?;
        if self.manifest.facts.secrets.is_none() {
            self.newly_found = Some(Arc::clone(&findings));
        }
        let searched = Searched { findings, beside };
        derived.searched = Some(searched.clone());
        self.keep(derived);
        Ok(searched)
    }

    /// Returns the secrets in an artifact that nobody had searched before this look-up.
    #[must_use]
    pub fn newly_found(&self) -> Option<&Findings> {
        self.newly_found.as_deref()
    }

    /// Returns whether secrets are in parts of the text that the view leaves out, such as overwritten
    /// lines.
    fn leaves_out_secrets(&self, redactor: &Redactor) -> Result<bool, LookupError> {
        let facts = &self.manifest.facts.view;
        if facts.is_raw || facts.layout == Layout::Json {
            return Ok(false);
        }
        Ok(!redactor.find(&*self.text()?)?.is_empty())
    }

    /// Returns the artifact with the view `text`. Its lines are counted again for these marks, unless an
    /// earlier look-up did, because a long line may break elsewhere with marks in it.
    fn with_text_of(
        mut self,
        text: Arc<RedactedSource>,
        mut derived: Derivation,
    ) -> io::Result<Self> {
        let marks = text.marks_id();
        let known = derived.marked.take();
        let known = known.filter(|it| it.marks == marks && it.lines.bytes == text.len());
        let marked = if let Some(known) = known {
            known
        } else {
            let marked = marked(&text, marks, self.view.layout())?;
            derived.marked = Some(marked.clone());
            self.keep(&derived);
            marked
        };
        let lines = marked.lines;
        let stats = &mut self.manifest.facts.stats;
        (stats.lines, stats.chars) = (marked.text_lines, marked.chars);
        let facts = &mut self.manifest.facts.view;
        let original_facts = facts.clone();
        facts.prelude = text.to_redacted_end(facts.prelude);
        facts.bytes = text.len();
        facts.lines = lines.lines;
        facts.longest_line = lines.longest_line;
        facts.is_raw = false;
        let source: Arc<dyn ByteSource> = Arc::<RedactedSource>::clone(&text);
        let view = View::new(source, lines, self.view.layout());
        let original = std::mem::replace(&mut self.view, view);
        self.redacted = Some(Redacted {
            original,
            facts: original_facts,
            text,
        });
        // The file contains the secrets.
        self.file = None;
        Ok(self)
    }

    /// Returns the artifact with its view in memory if the view has at most [`HELD`] bytes, for a look-up
    /// that reads the whole view several times: to copy it from the file each time takes as long as to
    /// scan it.
    pub fn in_memory(mut self) -> Result<Self, LookupError> {
        if self.view.bytes() <= HELD {
            let bytes = Bytes::from(self.view.source().bytes(0, HELD)?);
            self.view = self.view.in_source(Arc::new(bytes));
            if let Some(interrupt) = &self.interrupt {
                self.view = self.view.until(interrupt);
            }
        }
        Ok(self)
    }

    /// Returns whether another principal stored the artifact and shared it. Its raw bytes are its view
    /// then, and no reader may see its secrets.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns whether the view shows marks in place of secrets.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        self.redacted.is_some()
    }

    /// Returns a text inside this artifact with marks in place of its secrets, if this artifact has
    /// marks, too. What the document only shows with escapes can be a secret in the text.
    pub(crate) fn marked_inside(&self, inside: Self) -> Result<Self, LookupError> {
        match &self.redactor {
            Some(redactor) => inside.redacted(redactor),
            None => Ok(inside),
        }
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
            secrets: None,
            redacted: None,
            redactor: None,
            file: None,
            derived: None,
            newly_found: None,
            interrupt: self.interrupt.clone(),
            is_shared: self.is_shared,
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

    /// Returns the bytes as they arrived, with any secrets: not for a model if
    /// [`is_redacted`](Self::is_redacted).
    #[must_use]
    pub fn raw(&self) -> &dyn ByteSource {
        &*self.raw
    }

    /// Returns the text as it arrived: the raw bytes, or the text decoded from them. The text of a
    /// redacted artifact is its view.
    pub fn text(&self) -> io::Result<Arc<dyn ByteSource>> {
        if let Some(redacted) = &self.redacted {
            return Ok(Arc::<RedactedSource>::clone(&redacted.text));
        }
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
        let Some(redacted) = &self.redacted else {
            return self.raw_range_in(&self.view, &self.manifest.facts.view, line);
        };
        let Redacted {
            original,
            facts,
            text,
        } = redacted;
        let Some(shown) = self.view.lines_from(line)?.next_line()? else {
            return Ok(None);
        };
        if shown.number != line {
            return Ok(None);
        }
        // A mark can stand for text of several lines.
        let (start, end) = (
            text.to_original(shown.start),
            text.to_original_end(shown.end),
        );
        let first = original.line_of_offset(start)?;
        let last = original.line_of_offset(end.saturating_sub(1).max(start))?;
        let (first, last) = (
            self.raw_range_in(original, facts, first)?,
            self.raw_range_in(original, facts, last)?,
        );
        Ok(first.zip(last).map(|((start, _), (_, end))| (start, end)))
    }

    /// Returns the raw bytes that a line of `view` was made from. The view is not redacted; `facts`
    /// are its figures.
    fn raw_range_in(
        &self,
        view: &View,
        facts: &ViewFacts,
        line: u64,
    ) -> io::Result<Option<(u64, u64)>> {
        match &self.manifest.facts.form {
            RawForm::Plain => {
                let same = if facts.is_raw {
                    u64::MAX
                } else {
                    facts.prelude
                };
                raw_range(view, &*self.raw, same, line)
            }
            RawForm::Parts(parts) => {
                let text = self.decoded(parts)?;
                let found = range_in(view, facts, &text, line)?;
                let place = |(start, end)| Ok((text.raw_at(start)?, text.raw_at(end)?));
                found.map(place).transpose()
            }
            RawForm::Encoded { encoding, mark } => {
                let text = self.transcoded(encoding, *mark)?;
                let found = range_in(view, facts, &text, line)?;
                let place = |(start, end)| Ok((text.raw_at(start)?, text.raw_at(end)?));
                found.map(place).transpose()
            }
        }
    }
}

/// Counts the lines of a text with marks.
fn marked(text: &RedactedSource, marks: u64, layout: Layout) -> io::Result<Marked> {
    let (mut indexer, mut scan) = (Indexer::made(layout), Scan::default());
    let (mut reader, mut block) = (ReadRange::whole(text), vec![0; BLOCK]);
    loop {
        match reader.read(&mut block)? {
            0 => break,
            n => {
                indexer.feed(&block[..n]);
                scan.feed(&block[..n]);
            }
        }
    }
    let (lines, scanned) = (indexer.finish(), scan.finish());
    Ok(Marked {
        marks,
        chars: scanned.chars,
        text_lines: scanned.lines(),
        lines,
    })
}

/// Returns the range of `text` that a line of `view` was made from. `text` was decoded from the raw
/// bytes.
fn range_in(
    view: &View,
    facts: &ViewFacts,
    text: &dyn ByteSource,
    line: u64,
) -> io::Result<Option<(u64, u64)>> {
    let is_same = facts.layout != Layout::Json && same_bytes(text, view.source())?;
    let same = if is_same { u64::MAX } else { facts.prelude };
    raw_range(view, text, same, line)
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
    use std::sync::Mutex;

    use spillgate_artifact::HandleForm;
    use spillgate_store::conformance::facts_of;
    use spillgate_store::{ArtifactStore, MemoryStore, Part, StoreError};
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

    /// Counts how often something is kept.
    #[derive(Debug, Default)]
    struct Counted(Mutex<(Option<Vec<u8>>, usize)>);

    impl Derived for Counted {
        fn read(&self) -> Option<Vec<u8>> {
            self.0.lock().unwrap().0.clone()
        }

        fn keep(&self, bytes: &[u8]) -> Result<(), StoreError> {
            let mut kept = self.0.lock().unwrap();
            *kept = (Some(bytes.to_vec()), kept.1 + 1);
            Ok(())
        }
    }

    #[test]
    fn what_a_look_up_computed_serves_the_next_one() {
        let text = format!("{}key AKIAQ3EGXZ7LKTPNWB5M\n", "a line\n".repeat(90));
        let derived: Arc<Counted> = Arc::default();
        let open = |redactor: &Arc<Redactor>| {
            let mut artifact = artifact(&text);
            artifact.derived = Some(Arc::clone(&derived) as _);
            artifact.redacted(redactor).unwrap()
        };
        let redactor = || Arc::new(Redactor::new(spillgate_redact::Rules::builtin()));
        let other = redactor();
        // In this session, another key has the first mark.
        drop(other.text("AKIAQ3EGXZ7LKTPNWB5N"));
        let mut shown = Vec::new();
        for (redactor, keeps) in [(redactor(), 2), (redactor(), 2), (other, 3)] {
            let is_first = derived.read().is_none();
            let opened = open(&redactor);
            assert_eq!(opened.newly_found().is_some(), is_first);
            assert_eq!(derived.0.lock().unwrap().1, keeps);
            let line = opened.view().lines_from(91).unwrap().next_line().unwrap();
            let text = opened.view().source().bytes(0, u64::MAX).unwrap();
            assert_eq!(opened.view().index().bytes, text.len() as u64);
            shown.push((line, opened.manifest().facts.stats.chars));
        }
        assert_eq!(shown[0], shown[1]);
        assert_eq!(shown[0].1 + 2, shown[2].1);
    }
}
