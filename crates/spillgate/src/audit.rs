//! The audit log: one line of JSON for each output that is stored, looked up, shared or removed, and for
//! each request for an output that the caller does not have. It never has a part of an output or the
//! arguments of a call.
//!
//! Whatever reads or writes an output does so through its store, so the store records it. A store also
//! removes outputs by itself, so it tells an observer of each removal.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use spillgate_artifact::{
    ByteSource, Clock, Facts, Handle, HandleForm, Manifest, Principal, SessionId, SystemClock,
    Timestamp,
};
use spillgate_gateway::{AuditLoss, Metrics};
use spillgate_store::{
    ArtifactStore, Candidate, Draft, Gone, Listed, Part, Partition, Receipt, RemovalObserver,
    StoreError, Stored, Survey, Unreadable, open_regular,
};
use spillgate_untrusted::in_json;

use crate::failure::Failure;
#[cfg(feature = "telemetry")]
use crate::otlp_logs;

/// Settings of the audit log (`[audit]`).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AuditSettings {
    /// The file to which lines are appended, "stderr" or "otlp"; without it, nothing is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<PathBuf>,
}

/// The value of `to` for standard error.
const STDERR: &str = "stderr";

/// The value of `to` for an OpenTelemetry collector.
const OTLP: &str = "otlp";

impl AuditSettings {
    /// Returns the audit log; `None` if there is none. A process that serves clients does not start if
    /// it is for a collector and none is named.
    pub(crate) fn log(&self, serves: bool) -> Result<Option<Arc<Audit>>, Failure> {
        let Some(to) = self.to.as_ref().filter(|to| !to.as_os_str().is_empty()) else {
            return Ok(None);
        };
        let to = match to.to_str() {
            Some(STDERR) => Sink::Stderr,
            #[cfg(feature = "telemetry")]
            Some(OTLP) => {
                if serves {
                    otlp_logs::begin()?;
                }
                Sink::Collector
            }
            #[cfg(not(feature = "telemetry"))]
            Some(OTLP) => {
                let _ = serves;
                return Err(crate::left_out::failure("audit.to = \"otlp\"", "telemetry"));
            }
            _ => Sink::File(to.clone()),
        };
        let has_failed = AtomicBool::new(false);
        Ok(Some(Arc::new(Audit { to, has_failed })))
    }
}

/// Where lines that are lost are counted. Each new configuration makes a new audit log, but the metrics are
/// always the same.
static METRICS: OnceLock<Arc<Metrics>> = OnceLock::new();

/// Counts lines that are lost from now on.
pub(crate) fn count_losses_in(metrics: &Arc<Metrics>) {
    drop(METRICS.set(Arc::clone(metrics)));
}

/// Counts lines that were lost. Only a gateway has metrics.
pub(crate) fn lost(why: AuditLoss, lines: usize) {
    if let Some(metrics) = METRICS.get() {
        metrics.audit_lost(why, lines as u64);
    }
}

/// The audit log.
#[derive(Debug)]
pub(crate) struct Audit {
    to: Sink,
    has_failed: AtomicBool,
}

#[derive(Debug)]
enum Sink {
    Stderr,
    File(PathBuf),
    #[cfg(feature = "telemetry")]
    Collector,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// An output was stored.
    Store,
    /// An output was opened to be read.
    LookUp,
    /// The facts of an output were read: its origin and its size.
    Describe,
    /// An output was asked for that the principal does not have.
    Deny,
    /// The outputs were listed.
    List,
    /// An output was pinned, or its pin was ended.
    Pin,
    /// An output was removed.
    Remove,
    /// Another principal may read an output from now on.
    Share,
    /// Another principal may not read an output any more.
    EndShare,
}

/// A line of the log.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Line<'a> {
    time: Timestamp,
    event: Event,
    /// `None` if only its partition is known.
    principal: Option<&'a Principal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<&'a str>,
    /// The session of the client; `None` if the request belongs to none.
    session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<Handle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The rules for secrets that found something, with the number of secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    secrets: Option<&'a BTreeMap<String, u64>>,
    /// Whether the output is one that another principal shares.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reader: Option<&'a Principal>,
    /// Whether the output is pinned from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<bool>,
    /// Why the output was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Gone>,
}

impl<'a> Line<'a> {
    /// Returns a line about something that happens now.
    pub(crate) fn new(event: Event, principal: impl Into<Option<&'a Principal>>) -> Self {
        Self {
            time: SystemClock.now(),
            event,
            principal: principal.into(),
            partition: None,
            session: None,
            handle: None,
            server: None,
            tool: None,
            bytes: None,
            secrets: None,
            shared: false,
            reader: None,
            pinned: None,
            why: None,
        }
    }

    /// Returns the line of a share.
    pub(crate) fn sharing(self, handle: Handle, reader: &'a Principal) -> Self {
        Self {
            handle: Some(handle),
            reader: Some(reader),
            ..self
        }
    }

    fn about(self, manifest: &'a Manifest) -> Self {
        let facts = &manifest.facts;
        let secrets = facts.secrets.as_ref().map(|secrets| &secrets.found);
        Self {
            handle: Some(manifest.handle),
            server: facts.origin.server.as_deref().map(clipped),
            tool: Some(clipped(&facts.origin.tool)),
            bytes: Some(facts.raw_bytes),
            secrets: secrets.filter(|found| !found.is_empty()),
            ..self
        }
    }
}

/// Maximum characters of the name of a tool or a server. Programs send any names.
const MOST_NAME: usize = 200;

/// Returns the beginning of a name.
fn clipped(name: &str) -> &str {
    let end = name.char_indices().nth(MOST_NAME);
    end.map_or(name, |(at, _)| &name[..at])
}

/// Whose outputs a store has.
#[derive(Debug, Clone)]
pub(crate) enum Whose {
    Principal(Principal),
    /// Those of a principal whose name is not known now.
    Partition(Partition),
}

/// Records what is removed from a store.
#[derive(Debug)]
struct Removals {
    audit: Arc<Audit>,
    whose: Whose,
}

impl RemovalObserver for Removals {
    fn removed(&self, handle: Handle, why: Gone, manifest: Option<&Manifest>) {
        let (principal, partition) = match &self.whose {
            Whose::Principal(principal) => (Some(principal), None),
            Whose::Partition(partition) => (None, Some(partition.name())),
        };
        let line = Line::new(Event::Remove, principal);
        let line = match manifest {
            Some(manifest) => line.about(manifest),
            None => line,
        };
        self.audit.record(&Line {
            partition,
            handle: Some(handle),
            why: Some(why),
            ..line
        });
    }
}

impl Audit {
    /// Returns an observer that records what is removed from a store.
    pub(crate) fn removals(self: &Arc<Self>, whose: Whose) -> Arc<dyn RemovalObserver> {
        Arc::new(Removals {
            audit: Arc::clone(self),
            whose,
        })
    }

    /// Records a line. If that fails, the first failure is logged, and nothing else fails for it.
    pub(crate) fn record(&self, line: &Line<'_>) {
        let written = self.write(line);
        let was_failing = self.has_failed.swap(written.is_err(), Ordering::Relaxed);
        if written.is_err() {
            lost(AuditLoss::Failed, 1);
        }
        if let (Err(error), false) = (written, was_failing) {
            tracing::error!(%error, "the audit log cannot be written: what happens now is missing in it");
        }
    }

    fn write(&self, line: &Line<'_>) -> io::Result<()> {
        // Nobody can hide a part of a line, or make two of it, where a person reads it.
        let text = in_json(&serde_json::to_string(line)?).into_owned();
        let whole = format!("{text}\n");
        let bytes = whole.as_bytes();
        match &self.to {
            Sink::Stderr => io::stderr().write_all(bytes),
            #[cfg(feature = "telemetry")]
            Sink::Collector => otlp_logs::send(line.time, &text),
            Sink::File(path) => {
                // Opened each time, so that the file can be moved away and begun again.
                let mut options = OpenOptions::new();
                options.append(true).create(true).mode(0o600);
                open_regular(path, &mut options)?.write_all(bytes)
            }
        }
    }
}

/// A store that records what is done with its outputs.
#[derive(Debug, Clone)]
pub(crate) struct AuditedStore {
    pub(crate) store: Arc<dyn ArtifactStore>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) principal: Principal,
    pub(crate) session: Option<SessionId>,
}

impl AuditedStore {
    fn line(&self, event: Event) -> Line<'_> {
        Line {
            session: self.session,
            ..Line::new(event, &self.principal)
        }
    }

    /// Records an output that is not there.
    fn denied<T>(&self, handle: Handle, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Absent { .. }) = &done {
            self.audit.record(&Line {
                handle: Some(handle),
                ..self.line(Event::Deny)
            });
        }
        done
    }

    fn opened(
        &self,
        handle: Handle,
        opened: Result<Stored, StoreError>,
    ) -> Result<Stored, StoreError> {
        let stored = self.denied(handle, opened)?;
        self.audit.record(&Line {
            shared: stored.is_shared,
            ..self.line(Event::LookUp).about(&stored.manifest)
        });
        Ok(stored)
    }

    fn listed(&self) {
        self.audit.record(&self.line(Event::List));
    }
}

impl ArtifactStore for AuditedStore {
    fn draft(&self) -> Result<Box<dyn Draft>, StoreError> {
        Ok(Box::new(AuditedDraft {
            draft: self.store.draft()?,
            audit: Arc::clone(&self.audit),
            principal: self.principal.clone(),
            session: self.session,
        }))
    }

    fn open(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.opened(handle, self.store.open(handle))
    }

    fn peek(&self, handle: Handle) -> Result<Stored, StoreError> {
        self.opened(handle, self.store.peek(handle))
    }

    fn manifest(&self, handle: Handle) -> Result<Manifest, StoreError> {
        let manifest = self.denied(handle, self.store.manifest(handle))?;
        self.audit
            .record(&self.line(Event::Describe).about(&manifest));
        Ok(manifest)
    }

    fn receipt(&self, handle: Handle) -> Result<Receipt, StoreError> {
        self.denied(handle, self.store.receipt(handle))
    }

    fn list(&self) -> Result<Vec<Listed>, StoreError> {
        self.listed();
        self.store.list()
    }

    fn survey(&self) -> Result<Survey, StoreError> {
        self.listed();
        self.store.survey()
    }

    fn newest(
        &self,
        visit: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<Vec<Unreadable>, StoreError> {
        self.listed();
        self.store.newest(visit)
    }

    fn candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        self.store.candidates()
    }

    fn beginning_with(&self, beginning: &str) -> Result<Vec<Handle>, StoreError> {
        self.store.beginning_with(beginning)
    }

    fn count(&self) -> Result<usize, StoreError> {
        self.store.count()
    }

    fn remove(&self, handle: Handle, why: Gone, at: Timestamp) -> Result<(), StoreError> {
        // The store tells its observer that it is removed.
        self.denied(handle, self.store.remove(handle, why, at))
    }

    fn pin(&self, handle: Handle, pinned: bool) -> Result<(), StoreError> {
        self.denied(handle, self.store.pin(handle, pinned))?;
        self.audit.record(&Line {
            handle: Some(handle),
            pinned: Some(pinned),
            ..self.line(Event::Pin)
        });
        Ok(())
    }

    fn in_session(&self, session: SessionId) -> Option<Arc<dyn ArtifactStore>> {
        Some(Arc::new(Self {
            session: Some(session),
            ..self.clone()
        }))
    }
}

/// A draft whose commit is recorded.
#[derive(Debug)]
struct AuditedDraft {
    draft: Box<dyn Draft>,
    audit: Arc<Audit>,
    principal: Principal,
    session: Option<SessionId>,
}

impl Draft for AuditedDraft {
    fn write(&mut self, part: Part, bytes: &[u8]) -> Result<(), StoreError> {
        self.draft.write(part, bytes)
    }

    fn discard_view(&mut self) -> Result<(), StoreError> {
        self.draft.discard_view()
    }

    fn read(&self, part: Part) -> Result<Arc<dyn ByteSource>, StoreError> {
        self.draft.read(part)
    }

    fn complete(&mut self, part: Part) {
        self.draft.complete(part);
    }

    fn commit(
        self: Box<Self>,
        facts: Facts,
        index: &[u8],
        form: HandleForm,
    ) -> Result<Receipt, StoreError> {
        let Self {
            draft,
            audit,
            principal,
            session,
        } = *self;
        let receipt = draft.commit(facts, index, form)?;
        let line = Line {
            session,
            ..Line::new(Event::Store, &principal)
        };
        audit.record(&line.about(receipt.manifest()));
        Ok(receipt)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::time::Duration;

    use spillgate_store::conformance::{facts_of, run};
    use spillgate_store::{FileStore, Lifetime, Notes, PartitionKey, Space, Upkeep};

    use super::*;

    /// Returns the number of lines that this process lost.
    pub(crate) fn losses(why: &str) -> u64 {
        let page = METRICS.get_or_init(Arc::default).text();
        let name = format!("spillgate_audit_lines_lost_total{{why=\"{why}\"}} ");
        let lost = page.lines().find_map(|line| line.strip_prefix(&name));
        lost.map_or(0, |lost| lost.parse().unwrap())
    }

    /// Returns a store of alice below a directory. Its log is `audit.ndjson` there.
    fn audited(base: &Path) -> AuditedStore {
        let to = Some(base.join("audit.ndjson"));
        let audit = AuditSettings { to }.log(false).unwrap().unwrap();
        let principal: Principal = "alice".parse().unwrap();
        let files = FileStore::new(base.join("store"), Lifetime::Durable, Arc::new(SystemClock));
        let files = files.observed_by(audit.removals(Whose::Principal(principal.clone())));
        AuditedStore {
            store: Arc::new(files),
            audit,
            principal,
            session: None,
        }
    }

    fn stored(store: &dyn ArtifactStore, bytes: &[u8]) -> Handle {
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, bytes).unwrap();
        let mut facts = facts_of(bytes);
        facts.origin.arguments = Some("--pearl".to_owned());
        let receipt = draft.commit(facts, b"", HandleForm::Short).unwrap();
        receipt.handle()
    }

    /// Returns the lines of the log without their times.
    fn lines(base: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(base.join("audit.ndjson")).unwrap();
        let line = |line: &str| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(line.as_object_mut().unwrap().remove("time").is_some());
            line.to_string()
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn conforms() {
        let base = tempfile::tempdir().unwrap();
        let next = std::cell::Cell::new(0);
        run(&|| {
            next.set(next.get() + 1);
            let base = base.path().join(next.get().to_string());
            std::fs::create_dir(&base).unwrap();
            Box::new(audited(&base))
        });
    }

    #[test]
    fn each_step_is_a_line_without_the_content() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("audit.ndjson");
        let store = audited(base.path());
        let handle = stored(&store, b"oyster");
        store.open(handle).unwrap();
        store.manifest(handle).unwrap();
        store.list().unwrap();
        store.pin(handle, true).unwrap();
        store.pin(handle, false).unwrap();
        store
            .remove(handle, Gone::Removed, SystemClock.now())
            .unwrap();
        store.open(handle).unwrap_err();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        let all = lines(base.path()).join("\n");
        insta::assert_snapshot!(all.replace(&handle.to_string(), "HANDLE"), @r#"
        {"bytes":6,"event":"store","handle":"HANDLE","principal":"alice","session":null,"tool":"test_tool"}
        {"bytes":6,"event":"look_up","handle":"HANDLE","principal":"alice","session":null,"tool":"test_tool"}
        {"bytes":6,"event":"describe","handle":"HANDLE","principal":"alice","session":null,"tool":"test_tool"}
        {"event":"list","principal":"alice","session":null}
        {"event":"pin","handle":"HANDLE","pinned":true,"principal":"alice","session":null}
        {"event":"pin","handle":"HANDLE","pinned":false,"principal":"alice","session":null}
        {"bytes":6,"event":"remove","handle":"HANDLE","principal":"alice","session":null,"tool":"test_tool","why":"removed"}
        {"event":"deny","handle":"HANDLE","principal":"alice","session":null}
        "#);
        assert!(!text.contains("oyster") && !text.contains("pearl"));
    }

    #[test]
    fn what_age_and_quota_remove_is_recorded_once() {
        let base = tempfile::tempdir().unwrap();
        let audit = audited(base.path()).audit;
        let partition = PartitionKey::below(base.path()).unwrap();
        let partition = partition.partition(&"bob".parse().unwrap());
        let files = FileStore::new(
            base.path().join("bob"),
            Lifetime::Durable,
            Arc::new(SystemClock),
        )
        .observed_by(audit.removals(Whose::Partition(partition.clone())))
        .within(Space {
            quota: Some(10),
            ..Space::default()
        });
        let [old, large] =
            [&b"old"[..], b"larger than the quota"].map(|bytes| stored(&files, bytes));
        let upkeep = |max_age| Upkeep {
            max_age,
            notes: Notes {
                max_age: None,
                most: None,
            },
            every: Duration::ZERO,
            idle: Duration::from_secs(60),
            most: 10,
        };
        let now = SystemClock.now();
        files.keep_up(&upkeep(None), None, now).unwrap();
        let later = Timestamp::new(now.system_time() + Duration::from_secs(60));
        let age = Some(Duration::from_secs(1));
        files.keep_up(&upkeep(age), None, later).unwrap();
        let all = lines(base.path()).join("\n");
        let all = all
            .replace(&old.to_string(), "OLD")
            .replace(&large.to_string(), "LARGE");
        insta::assert_snapshot!(all.replace(partition.name(), "PARTITION"), @r#"
        {"bytes":21,"event":"remove","handle":"LARGE","partition":"PARTITION","principal":null,"session":null,"tool":"test_tool","why":"evicted"}
        {"bytes":3,"event":"remove","handle":"OLD","partition":"PARTITION","principal":null,"session":null,"tool":"test_tool","why":"expired"}
        "#);
    }

    #[test]
    fn lines_name_the_session() {
        let base = tempfile::tempdir().unwrap();
        let store = audited(base.path());
        let id = SessionId::random();
        let session = store.in_session(id).unwrap();
        let handle = stored(&*session, b"oyster");
        session.open(handle).unwrap();
        store.open(handle).unwrap();
        let named = lines(base.path());
        let named = named.iter().map(|line| line.contains(&id.to_string()));
        assert_eq!(named.collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn names_are_short_and_hide_nothing() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("audit.ndjson");
        let store = audited(base.path());
        let mut facts = facts_of(b"x");
        facts.origin.tool = format!("a\u{202e}b\u{2028}c\u{85}{}", "é".repeat(1000));
        facts.origin.server = Some("s".repeat(1000));
        let mut draft = store.draft().unwrap();
        draft.write(Part::Raw, b"x").unwrap();
        draft.commit(facts, b"", HandleForm::Short).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(r#""tool":"a\u202eb\u2028c\u0085é"#), "{text}");
        assert!(!text.trim_end().contains(spillgate_untrusted::is_hidden));
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        for name in ["tool", "server"] {
            assert_eq!(line[name].as_str().unwrap().chars().count(), MOST_NAME);
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_fails_nothing() {
        let before = losses("failed");
        let base = tempfile::tempdir().unwrap();
        let mut store = audited(base.path());
        let to = Some(base.path().join("missing/audit.ndjson"));
        store.audit = AuditSettings { to }.log(false).unwrap().unwrap();
        stored(&store, b"x");
        assert_eq!(losses("failed") - before, 1);
    }
}
