//! Renders what a model sees instead of an oversized result.
//!
//! A profile is a variant of [`Profile`] and a [`Strategy`] in its own file. The strategy makes a
//! [`Message`] from a [`Subject`]. The message stays structured until [`Message::render`].

mod audience;
mod compat;
mod inside;
mod message;
mod preview;
mod template;

use std::cell::OnceCell;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use spillgate_artifact::{
    ByteSource, ContentKind, Facts, Handle, HandleForm, Manifest, Reason, Stats, TokenBudget,
};
use spillgate_lookup::Artifact;
use spillgate_outline::{Lead, OutlineEntry, outline, outline_of_binary};
use spillgate_redact::Redactor;
use spillgate_store::{ArtifactStore, Receipt, StoreError};
use spillgate_text::{Sanitizer, ScanFacts, TokenCounter, clip};
use spillgate_untrusted::{is_hidden, marked};

use crate::RetrieveError;
use crate::capture::{Captured, Raw};
use crate::history::Earlier;
use crate::limits::Limits;
use crate::offloader::Offloader;
use crate::redaction::{Redaction, redacted, withheld as withheld_text};
use crate::seen::Seen;
use crate::stored_secrets::{found, stored_how, told};

use audience::Calls;
pub use audience::{Audience, Purpose, Quoting, Way};
pub(crate) use compat::continuation::later;
pub use compat::continuation::{ContinuationError, DEFAULT_SLICE_CHARS};
pub use compat::funnel::{FUNNEL_CHARS, FUNNEL_LINES, FUNNEL_PROMPT, ObservationSummary};
pub use compat::reject::REJECT_TOKENS;
pub use compat::truncate::{DEFAULT_MAX_BYTES, middle_cut};
pub(crate) use compat::truncate::{Ends, LEAST_BYTES, not_stored, truncate};
pub use message::{Bounds, Presentation};
pub(crate) use message::{Message, holds_as_json};
pub use preview::DEFAULT_MAX_TOKENS;
pub use template::{TemplateError, TemplateName, Templates};

/// How an oversized result is shown (docs/profiles.md).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Profile {
    /// Handle, figures, shape, head and tail, and the next calls.
    #[default]
    Preview,
    /// Three lines that name the handle and `tool_output`.
    Handle,
    /// The first characters and how to get more.
    Continuation,
    /// A receipt (the figures of the result), a trailer (its first and last lines) and guidance for
    /// the model.
    Funnel,
    /// An error with figures and advice; no data.
    Reject,
    /// The text with its middle cut out, within a byte limit.
    Truncate,
    /// A user's template of that name.
    Template(TemplateName),
}

impl Profile {
    /// The built-in profiles, for help texts.
    pub const BUILT_IN: [Self; 6] = [
        Self::Preview,
        Self::Handle,
        Self::Continuation,
        Self::Funnel,
        Self::Reject,
        Self::Truncate,
    ];

    /// Returns the strategy that implements the profile.
    pub(crate) fn strategy(&self) -> &dyn Strategy {
        match self {
            Self::Preview => &preview::Preview,
            Self::Handle => &compat::handle::Handle,
            Self::Continuation => &compat::continuation::Continuation,
            Self::Funnel => &compat::funnel::Funnel,
            Self::Reject => &compat::reject::Reject,
            Self::Truncate => &compat::truncate::Truncate,
            Self::Template(name) => name,
        }
    }

    /// Returns the name in the configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        self.strategy().name()
    }

    /// Returns whether the message scales with the result's size, so that a small result may cost
    /// less than the message that would replace it.
    #[must_use]
    pub fn is_budgeted(&self) -> bool {
        self.strategy().is_budgeted()
    }

    /// Returns whether the message is an error that refuses the result.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.strategy().is_refusal()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<&str> for Profile {
    /// Returns the built-in profile of that name, otherwise the template.
    fn from(name: &str) -> Self {
        let mut built_in = Self::BUILT_IN.into_iter();
        built_in
            .find(|profile| profile.name() == name)
            .unwrap_or_else(|| Self::Template(name.into()))
    }
}

impl From<String> for Profile {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Profile> for String {
    fn from(profile: Profile) -> Self {
        profile.name().to_owned()
    }
}

impl FromStr for Profile {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Self::from(name))
    }
}

/// The behaviour of one profile.
pub(crate) trait Strategy {
    /// Returns the name in the configuration.
    fn name(&self) -> &str;

    /// Returns the limits that apply if the user sets none.
    fn sizes(&self) -> Sizes;

    /// Returns whether the message scales with the result's size, within a token budget.
    fn is_budgeted(&self) -> bool {
        false
    }

    /// Returns whether the message is an error that refuses the result.
    fn is_refusal(&self) -> bool {
        false
    }

    /// Returns whether a result exceeds `limit` tokens, for profiles that estimate; `None` if the
    /// tokens must be counted.
    fn exceeds_tokens(&self, _scan: &ScanFacts, _limit: u64) -> Option<bool> {
        None
    }

    /// Returns whether the message has an outline. The outline is then made while the result is
    /// stored.
    fn shows_outline(&self, _limits: &Limits) -> bool {
        false
    }

    /// Returns whether the message says what differs from an earlier result.
    fn has_history(&self) -> bool {
        false
    }

    /// Returns the form of the handle under which a result is stored.
    fn handle_form(&self) -> HandleForm {
        HandleForm::Short
    }

    /// Adds facts that the artifact needs later, such as its file name.
    fn note(&self, _facts: &mut Facts, _limits: &Limits) {}

    /// Returns the limits for a result that is stored although it is within them.
    fn tightened(&self, limits: Limits, _stats: &Stats) -> Limits {
        limits
    }

    /// Estimates the tokens of the message for a result whose tokens are not counted yet.
    fn cost(
        &self,
        scan: &ScanFacts,
        _kind: ContentKind,
        limits: &Limits,
        _counter: &dyn TokenCounter,
    ) -> u64 {
        let half = TokenBudget::new(estimated(scan) / 2);
        limits.preview.min(half).get()
    }

    /// Makes the message for a stored result.
    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError>;
}

/// Estimates tokens at four bytes each.
fn estimated(scan: &ScanFacts) -> u64 {
    scan.bytes.div_ceil(4)
}

/// The sizes above which a result is offloaded; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sizes {
    pub(crate) tokens: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) lines: Option<u64>,
    pub(crate) chars: Option<u64>,
}

/// What rendering needs besides the result.
#[derive(Debug, Clone)]
pub(crate) struct Presenter {
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) audience: Audience,
    /// Finds and marks secrets.
    pub(crate) redactor: Arc<Redactor>,
}

/// A stored result and everything needed to make its message.
pub(crate) struct Subject<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) limits: &'a Limits,
    /// Maximum bytes of the message as a JSON string where it is read.
    pub(crate) json_bytes: u64,
    pub(crate) ends: &'a TwoEnds,
    /// The outline, if it was made while storing.
    pub(crate) outlined: Option<Vec<OutlineEntry>>,
    /// Through what the text is read if it was not searched as a whole.
    pub(crate) seen: Option<&'a Seen>,
    pub(crate) presenter: &'a Presenter,
    pub(crate) templates: &'a Templates,
    pub(crate) store: &'a dyn ArtifactStore,
    /// An earlier result that the reader was shown, if this one repeats it or its call.
    pub(crate) earlier: Option<Earlier>,
    /// The artifact, once it was opened.
    pub(crate) opened: OnceCell<Artifact>,
}

impl Subject<'_> {
    pub(crate) fn facts(&self) -> &Facts {
        &self.manifest.facts
    }

    pub(crate) fn counter(&self) -> &dyn TokenCounter {
        &*self.presenter.counter
    }

    /// Opens the artifact, once.
    pub(crate) fn artifact(&self) -> Result<&Artifact, RetrieveError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let handle = self.manifest.handle;
        let opened = match self.seen {
            Some(seen) => seen.artifact(self.store.open(handle)?)?,
            None => self.open(handle)?,
        };
        Ok(self.opened.get_or_init(|| opened))
    }

    /// Opens an artifact as the reader of the message may see it.
    pub(crate) fn open(&self, handle: Handle) -> Result<Artifact, RetrieveError> {
        let artifact = Artifact::open(self.store.open(handle)?)?;
        redacted(artifact, self.limits.redaction, &self.presenter.redactor)
    }

    /// Returns the outline of the text.
    pub(crate) fn outline(&self) -> Result<Vec<OutlineEntry>, RetrieveError> {
        if let Some(made) = &self.outlined {
            return Ok(made.clone());
        }
        let (artifact, facts) = (self.artifact()?, self.facts());
        let stats = &facts.stats;
        if stats.kind == ContentKind::Binary {
            return Ok(outline_of_binary(&*artifact.text()?)?);
        }
        Ok(outline(
            artifact.view(),
            &artifact.manifest().facts.view,
            stats.kind,
            stats.lines,
            self.manifest.facts.has_failed(),
        )?)
    }

    /// Returns calls with the arguments of `leads`, and the names of the other calls.
    pub(crate) fn calls(&self, leads: &[Lead]) -> Calls {
        let audience = &self.presenter.audience;
        audience.calls(self.manifest.handle, self.facts().stats.kind, leads)
    }

    /// Returns the retrieval calls that the reader can make, the most useful first.
    pub(crate) fn ways(&self) -> Vec<String> {
        let kind = self.facts().stats.kind;
        self.presenter.audience.next(self.manifest.handle, kind)
    }

    /// Half of the result's own tokens: a message that costs more saves little. A result that is
    /// stored for its secrets alone may be shown whole.
    pub(crate) fn half(&self) -> TokenBudget {
        if self.facts().reason == Reason::Secrets {
            return self.limits.preview;
        }
        TokenBudget::new(self.facts().stats.tokens.count / 2)
    }

    /// The budget of a message that scales with the result's size.
    pub(crate) fn budget(&self) -> TokenBudget {
        self.limits.preview.min(self.half())
    }

    /// Returns bounds of `tokens` and the reader's byte limit.
    pub(crate) fn bounds(&self, tokens: TokenBudget) -> Bounds {
        Bounds {
            tokens,
            json_bytes: self.json_bytes,
        }
    }
}

impl Offloader {
    /// Renders the message for an artifact that was stored earlier, and counts the artifact as used.
    /// The message follows from the artifact and the rules alone, so it is the same each time.
    pub fn present_stored(&self, handle: Handle) -> Result<Presentation, RetrieveError> {
        let receipt = self.store.receipt(handle)?;
        let mut limits = self.limits(&receipt.manifest().facts.origin);
        let (ends, is_shared) = self.ends_of(handle)?;
        limits.redaction = limits.redaction.of(is_shared);
        let made = (None, None);
        Ok(self.present(&receipt, &ends, made, (&limits, u64::MAX), None)?)
    }

    /// Returns the ends of a stored text as its reader may see them, and whether another shares it.
    pub(crate) fn ends_of(&self, handle: Handle) -> Result<(TwoEnds, bool), RetrieveError> {
        let artifact = match self.artifact(handle) {
            Ok(artifact) => artifact,
            // Nothing of it is shown, also not to its owner.
            Err(error) if error.hides_secrets() => {
                return Ok((TwoEnds::of_text(withheld_text()), false));
            }
            Err(error) => return Err(error),
        };
        let text = match artifact.is_redacted() {
            true => Arc::clone(artifact.view().shared()),
            false => artifact.text()?,
        };
        Ok((TwoEnds::of_text(text), artifact.is_shared()))
    }

    /// Renders the message for a stored result, with the outline that was made while storing, and with
    /// what the text is read through if it was not searched as a whole.
    pub(crate) fn present(
        &self,
        receipt: &Receipt,
        ends: &TwoEnds,
        (outlined, seen): (Option<Vec<OutlineEntry>>, Option<&Seen>),
        (limits, json_bytes): (&Limits, u64),
        earlier: Option<Earlier>,
    ) -> Result<Presentation, StoreError> {
        let manifest = receipt.manifest();
        let subject = Subject {
            manifest,
            limits,
            json_bytes,
            ends,
            outlined,
            seen,
            presenter: &self.presenter,
            templates: self.policy.templates(),
            store: &*self.store,
            earlier,
            opened: OnceCell::new(),
        };
        let has_secrets = !found(&manifest.facts).is_empty();
        let message = match limits.redaction {
            Redaction::Block if has_secrets => Ok(withheld(manifest)),
            _ => limits.profile.strategy().message(&subject),
        };
        let message = message.or_else(|error| match error.hides_secrets() {
            true => Ok(withheld(manifest)),
            false => Err(error),
        });
        let message = message.map_err(|error| error.of_stored(manifest.handle))?;
        let message = match limits.redaction {
            Redaction::Off => message,
            _ => message.redacted(self.redactor()),
        };
        let message = match &self.presenter.audience.alias {
            Some(alias) => message.renamed(&manifest.handle.to_string(), alias),
            None => message,
        };
        Ok(message.render(subject.counter()))
    }
}

/// The message for a stored result with secrets of which nothing is shown.
fn withheld(manifest: &Manifest) -> Message {
    let facts = &manifest.facts;
    Message::fixed(format!(
        "[spillgate] {} returned {} bytes, {} lines ({}) with secrets ({}). No part of them is shown; \
         {} as {}. The user can read them at a terminal with `spillgate cat --raw`.",
        name_in_line(&facts.origin.tool),
        facts.stats.bytes,
        facts.stats.lines,
        facts.stats.kind,
        told(&found(facts)),
        stored_how(facts),
        manifest.handle,
    ))
}

/// Reads the beginning and the end of a result, even after the result was stored or lost.
pub(crate) struct TwoEnds {
    text: Option<Arc<dyn ByteSource>>,
    /// The first bytes that are left of a lost text.
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
}

impl TwoEnds {
    pub(crate) fn of(captured: &Captured) -> Self {
        let tail = match &captured.raw {
            Raw::Lost { tail, .. } => tail.clone(),
            _ => Vec::new(),
        };
        Self {
            text: captured.text().ok().flatten(),
            head: captured.head.clone(),
            tail,
            bytes: captured.scan.bytes,
        }
    }

    /// Prepares reading the ends of a text other than that of the result: its redacted view.
    pub(crate) fn of_text(text: Arc<dyn ByteSource>) -> Self {
        Self {
            bytes: text.len(),
            text: Some(text),
            head: Vec::new(),
            tail: Vec::new(),
        }
    }

    /// Returns whether the text is lost but for its ends.
    pub(crate) fn is_lost(&self) -> bool {
        self.text.is_none()
    }

    /// Reads, from each end, as many bytes as the byte limit. A text of up to twice the limit is
    /// read whole, so that the two parts cannot overlap.
    pub(crate) fn read(&self, limits: &Limits) -> Ends {
        let wanted = limits.bytes.unwrap_or(DEFAULT_MAX_BYTES).max(LEAST_BYTES);
        let Some(text) = &self.text else {
            return Ends::Apart {
                head: readable(&self.head),
                tail: readable(&self.tail),
                bytes: self.bytes,
            };
        };
        if self.bytes <= wanted.saturating_mul(2)
            && let Ok(whole) = text.bytes(0, self.bytes)
        {
            return Ends::Whole(readable(&whole));
        }
        let read = |start, end| readable(&text.bytes(start, end).unwrap_or_default());
        let from = self
            .bytes
            .saturating_sub(wanted)
            .max(wanted.min(self.bytes));
        Ends::Apart {
            head: read(0, wanted.min(self.bytes)),
            tail: read(from, self.bytes),
            bytes: self.bytes,
        }
    }
}

/// Returns raw bytes as text without control characters.
fn readable(raw: &[u8]) -> String {
    let (mut text, mut sanitizer) = (Vec::new(), Sanitizer::default());
    let written = sanitizer
        .feed(raw, &mut text)
        .and_then(|()| sanitizer.finish(&mut text));
    written.expect("invariant: writing to memory does not fail");
    String::from_utf8_lossy(&text).into_owned()
}

/// Turns an untrusted name into a single line of limited length, for use in one of our lines.
pub(crate) fn name_in_line(name: &str) -> String {
    const LONGEST: usize = 80;
    let spaced: String = name.chars().take(2 * LONGEST).collect();
    clip(&marked(&spaced.replace(['\t', '\n'], " ")), LONGEST)
}

/// Replaces tabs, line breaks and hidden characters by spaces. Leading spaces stay, because an
/// entry may be indented.
pub(crate) fn spaced(text: &str) -> String {
    let is_gone = |c: char| matches!(c, '\t' | '\n') || is_hidden(c);
    text.replace(is_gone, " ")
}
