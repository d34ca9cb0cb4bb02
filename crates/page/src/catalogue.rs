//! The list of what is stored, in memory, so that it can be filtered and sorted at once.
//!
//! A thread reads the manifests of all outputs, newest first; what it has read can be seen at once.
//! After that, only what is newer than the list is read, as far as the store can tell. A view reads the manifests of the outputs that it
//! shows again, so pins and removals by other programs are seen where they matter.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use spillgate_artifact::{ContentKind, Handle, Manifest, Timestamp};
use spillgate_offload::Offloader;
use spillgate_store::{ArtifactStore, StoreError};

use crate::shown;

/// Most outputs in the list; older ones are left out. Each takes about 300 bytes.
const MOST: usize = 500_000;

/// Rows that are read before they can be seen.
const AT_ONCE: usize = 128;

/// Known outputs in a row after which nothing new is expected. Outputs of the same second may change
/// their order.
const KNOWN: usize = 32;

/// Duration of a look above which nobody waits for it: where the store has no list of the newest, each
/// look reads all manifests.
const SLOW: Duration = Duration::from_millis(500);

/// The pause after a slow look, as a multiple of its duration.
const PAUSE: u32 = 20;

/// Most outputs for which somebody waits for the first look.
const FEW: usize = 5000;

/// Shortest time between two looks for outputs that are gone.
const COUNT_EVERY: Duration = Duration::from_secs(20);

/// How long the first view waits for the first rows.
const PATIENCE: Duration = Duration::from_millis(80);

/// Characters of a call that are kept for the filter.
const CALL: usize = 160;

/// Names that a filter offers.
const NAMES: usize = 200;

/// What is known of an output without its manifest.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) handle: Handle,
    pub(crate) created: Timestamp,
    /// The names of server and tool, as they are shown.
    server: Option<Arc<str>>,
    tool: Arc<str>,
    kind: ContentKind,
    failed: bool,
    pinned: bool,
    bytes: u64,
    tokens: u64,
    /// Server, tool and call in lower case.
    words: Box<str>,
}

/// What a list shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// A text in the server, the tool or the call, in lower case.
    pub(crate) words: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) kind: Option<ContentKind>,
    pub(crate) failed: bool,
    pub(crate) pinned: bool,
    /// The greatest age.
    pub(crate) since: Option<Duration>,
    pub(crate) order: Order,
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    #[default]
    Newest,
    Largest,
    Tokens,
}

/// A part of a list.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) manifests: Vec<Manifest>,
    /// Outputs that the filter lets through.
    pub(crate) found: usize,
    /// All outputs that are known.
    pub(crate) known: usize,
    /// Whether all outputs are known.
    pub(crate) is_whole: bool,
}

/// The names that filters offer.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) servers: BTreeSet<Arc<str>>,
    pub(crate) tools: BTreeSet<Arc<str>>,
    pub(crate) kinds: HashSet<ContentKind>,
}

#[derive(Debug, Default)]
struct State {
    /// Newest first.
    rows: Vec<Row>,
    handles: HashSet<Handle>,
    is_whole: bool,
    /// The end of the last look, and its duration.
    looked: Option<(Instant, Duration)>,
    counted: Option<Instant>,
}

#[derive(Debug)]
pub(crate) struct Catalogue {
    store: Arc<dyn ArtifactStore>,
    offloader: Offloader,
    state: Mutex<State>,
    grown: Condvar,
    /// Held by the one that looks for new outputs.
    looking: Mutex<()>,
}

impl Catalogue {
    pub(crate) fn new(store: Arc<dyn ArtifactStore>, offloader: Offloader) -> Arc<Self> {
        Arc::new(Self {
            store,
            offloader,
            state: Mutex::default(),
            grown: Condvar::new(),
            looking: Mutex::new(()),
        })
    }

    /// Reads the list on a thread of its own.
    pub(crate) fn read_all(self: Arc<Self>) {
        let reading = std::thread::Builder::new().name("catalogue".to_owned());
        let started = reading.spawn(move || {
            let _only = self.looking.lock();
            let mut some = Vec::new();
            let visited = self.store.newest(&mut |one| {
                some.push(self.row(&one.manifest));
                if some.len() >= AT_ONCE && !self.append(&mut some) {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            self.append(&mut some);
            if let Err(error) = visited {
                tracing::warn!(%error, "the list of stored outputs could not be read");
            }
            let mut state = self.state.lock();
            state.is_whole = true;
            state.counted = Some(Instant::now());
            self.grown.notify_all();
        });
        if let Err(error) = started {
            tracing::warn!(%error, "the list of stored outputs could not be read");
        }
    }

    /// Adds rows that are older than those in the list. Returns whether there is room for more.
    fn append(&self, some: &mut Vec<Row>) -> bool {
        let mut state = self.state.lock();
        for row in some.drain(..) {
            if state.handles.insert(row.handle) {
                state.rows.push(row);
            }
        }
        self.grown.notify_all();
        state.rows.len() < MOST
    }

    fn row(&self, manifest: &Manifest) -> Row {
        let facts = &manifest.facts;
        let origin = &facts.origin;
        let call = shown::call(&self.offloader, manifest, CALL);
        let server = origin.server.as_deref();
        let words = format!("{} {} {call}", server.unwrap_or_default(), origin.tool);
        Row {
            handle: manifest.handle,
            created: facts.created,
            server: server.map(|name| shown::name(name).into()),
            tool: shown::name(&origin.tool).into(),
            kind: facts.stats.kind,
            failed: shown::how(facts) == shown::How::Badly,
            pinned: manifest.pinned,
            bytes: facts.stats.bytes,
            tokens: facts.stats.tokens.count,
            words: words.to_lowercase().into(),
        }
    }

    /// Looks for new outputs, on a thread of its own if that takes long.
    fn look(self: &Arc<Self>) -> Result<(), StoreError> {
        let is_slow = {
            let state = self.state.lock();
            match state.looked {
                _ if !state.is_whole => return Ok(()),
                Some((at, took)) if took > SLOW && at.elapsed() < took * PAUSE => return Ok(()),
                Some((_, took)) => took > SLOW,
                None => state.rows.len() > FEW,
            }
        };
        if !is_slow {
            return self.look_now();
        }
        let of = Arc::clone(self);
        let looking = std::thread::Builder::new().name("catalogue".to_owned());
        let started = looking.spawn(move || of.look_now());
        if let Err(error) = started {
            tracing::warn!(%error, "the list of stored outputs could not be read");
        }
        Ok(())
    }

    /// Looks for new outputs, and from time to time for those that are gone.
    fn look_now(&self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let Some(_only) = self.looking.try_lock_for(SLOW) else {
            return Ok(());
        };
        let (mut new, mut known) = (Vec::new(), 0);
        self.store.newest(&mut |one| {
            let is_known = self.state.lock().handles.contains(&one.manifest.handle);
            known = if is_known { known + 1 } else { 0 };
            if !is_known {
                new.push(self.row(&one.manifest));
            }
            match known < KNOWN && new.len() < MOST {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        let counted = self.state.lock().counted;
        let gone = match counted.is_none_or(|counted| counted.elapsed() >= COUNT_EVERY) {
            true => Some(HashSet::<Handle>::from_iter(self.store.beginning_with("")?)),
            false => None,
        };
        let mut state = self.state.lock();
        state.looked = Some((Instant::now(), begun.elapsed()));
        if !new.is_empty() {
            state.handles.extend(new.iter().map(|row| row.handle));
            state.rows.splice(0..0, new);
            // An output of the same second may have come later than one in the list.
            state.rows.sort_by_key(|row| std::cmp::Reverse(row.created));
            state.rows.truncate(MOST);
        }
        if let Some(there) = gone {
            state.counted = Some(Instant::now());
            state.rows.retain(|row| there.contains(&row.handle));
            state.handles.retain(|handle| there.contains(handle));
        }
        Ok(())
    }

    /// Forgets an output that is gone.
    pub(crate) fn forget(&self, handle: Handle) {
        let mut state = self.state.lock();
        if state.handles.remove(&handle) {
            state.rows.retain(|row| row.handle != handle);
        }
    }

    /// Returns `most` outputs after the first `skipped` that the filter lets through.
    pub(crate) fn part(
        self: &Arc<Self>,
        filter: &Filter,
        skipped: usize,
        most: usize,
        now: Timestamp,
    ) -> Result<Part, StoreError> {
        self.look()?;
        let mut part = Part::default();
        let rows: Vec<(Handle, bool)> = {
            let mut state = self.state.lock();
            if state.rows.len() < most && !state.is_whole {
                self.grown.wait_for(&mut state, PATIENCE);
            }
            (part.known, part.is_whole) = (state.rows.len(), state.is_whole);
            let mut rows: Vec<&Row> = state
                .rows
                .iter()
                .filter(|row| filter.lets(row, now))
                .collect();
            match filter.order {
                Order::Newest => {}
                Order::Largest => rows.sort_by_key(|row| std::cmp::Reverse(row.bytes)),
                Order::Tokens => rows.sort_by_key(|row| std::cmp::Reverse(row.tokens)),
            }
            part.found = rows.len();
            let rows = rows.into_iter().skip(skipped).take(most);
            rows.map(|row| (row.handle, row.pinned)).collect()
        };
        for (handle, pinned) in rows {
            match self.store.manifest(handle) {
                Ok(manifest) => {
                    if manifest.pinned != pinned {
                        self.note_pin(&manifest);
                    }
                    part.manifests.push(manifest);
                }
                Err(StoreError::Absent { .. }) => self.forget(handle),
                // `spillgate verify` reports damage; the list shows what can be read.
                Err(_) => {}
            }
        }
        Ok(part)
    }

    /// Notes that an output was pinned, or is not pinned any more.
    pub(crate) fn note_pin(&self, manifest: &Manifest) {
        let mut state = self.state.lock();
        let rows = state.rows.iter_mut();
        for row in rows.filter(|row| row.handle == manifest.handle) {
            row.pinned = manifest.pinned;
        }
    }

    /// Returns the handles of all outputs that the filter lets through, newest first.
    pub(crate) fn handles(
        self: &Arc<Self>,
        filter: &Filter,
        now: Timestamp,
    ) -> Result<Vec<Handle>, StoreError> {
        self.look()?;
        let state = self.state.lock();
        let rows = state.rows.iter().filter(|row| filter.lets(row, now));
        Ok(rows.map(|row| row.handle).collect())
    }

    /// Returns the newest output of the same call that is older than this one.
    pub(crate) fn earlier(
        self: &Arc<Self>,
        manifest: &Manifest,
    ) -> Result<Option<Handle>, StoreError> {
        self.look()?;
        let own = self.row(manifest);
        let candidates: Vec<Handle> = {
            let state = self.state.lock();
            let at = state.rows.iter().position(|row| row.handle == own.handle);
            let older = state.rows.iter().skip(at.map_or(0, |at| at + 1));
            let same = older.filter(|row| row.words == own.words && row.created <= own.created);
            same.take(AT_ONCE).map(|row| row.handle).collect()
        };
        // The list keeps only the beginning of a call.
        let is_same = |handle: Handle| {
            let other = self.store.manifest(handle);
            other.is_ok_and(|other| {
                let (one, other) = (&manifest.facts.origin, &other.facts.origin);
                (&one.server, &one.tool, &one.arguments)
                    == (&other.server, &other.tool, &other.arguments)
            })
        };
        Ok(candidates.into_iter().find(|&handle| is_same(handle)))
    }

    /// Returns the names that filters offer.
    pub(crate) fn names(&self) -> Names {
        let mut names = Names::default();
        let state = self.state.lock();
        for row in &state.rows {
            if let Some(server) = &row.server
                && names.servers.len() < NAMES
                && !names.servers.contains(server)
            {
                names.servers.insert(Arc::clone(server));
            }
            if names.tools.len() < NAMES && !names.tools.contains(&row.tool) {
                names.tools.insert(Arc::clone(&row.tool));
            }
            names.kinds.insert(row.kind);
        }
        names
    }
}

impl Filter {
    fn lets(&self, row: &Row, now: Timestamp) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        (!self.failed || row.failed)
            && (!self.pinned || row.pinned)
            && is(&self.tool, &row.tool)
            && is(&self.server, row.server.as_deref().unwrap_or_default())
            && self.kind.is_none_or(|kind| row.kind == kind)
            && (self.since).is_none_or(|since| row.created.age_at(now) <= since)
            && (self.words.as_ref()).is_none_or(|words| row.words.contains(words.as_str()))
    }

    /// Whether the filter lets everything through.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_none()
            && self.server.is_none()
            && self.tool.is_none()
            && self.kind.is_none()
            && self.since.is_none()
            && !self.failed
            && !self.pinned
    }
}
