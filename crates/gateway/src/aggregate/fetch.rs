//! Fetches the lists of one of several servers, or returns the last known lists.
//!
//! Each list is fetched by only one request at a time. All callers wait for this request up to a
//! time limit, and then use the last known list. If the list arrives later, the client is informed
//! by `list_changed`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use spillgate_mcp::{error_code, frame, messages};
use spillgate_transport::ConnectionError;
use tokio::time::{sleep, timeout};

use super::faults::why;
use super::known::List;
use super::standing::{Awaited, Missed};
use super::{Kind, listening};
use crate::session::Session;
use crate::upstream::Upstream;
use spillgate_upstream::Slot;

/// Maximum number of pages of one list. Without a limit, a server whose cursors form a cycle would
/// keep a client waiting forever.
const MOST_PAGES: usize = 1000;

/// Maximum size, in bytes, of the entries of one list. They are held in memory.
const MOST_BYTES: usize = 64 << 20;

/// Maximum number of attempts to fetch a list that changes while it is fetched.
const MOST_TRIES: u32 = 3;

/// The first and the longest delay between attempts to start a server.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The reason given for a server that did not answer in time.
pub(super) const SILENT: &str = "has not answered yet";

/// A list, or the reason why there is none.
type Fetched = Result<Arc<List>, String>;
type Fetch = Shared<BoxFuture<'static, Fetched>>;

/// The lists of one server that are being fetched.
#[derive(Default)]
pub(crate) struct Fetches {
    under_way: Mutex<HashMap<Kind, Fetch>>,
    /// The number of changes of each list.
    changes: Mutex<HashMap<Kind, u64>>,
}

impl fmt::Debug for Fetches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetches")
    }
}

impl Fetches {
    /// Records that the list has changed. A running fetch may return the old list, so later callers
    /// do not join that fetch.
    pub(crate) fn forget(&self, kind: Kind) {
        *self.changes.lock().entry(kind).or_default() += 1;
        self.under_way.lock().remove(&kind);
    }

    fn changes(&self, kind: Kind) -> u64 {
        self.changes.lock().get(&kind).copied().unwrap_or_default()
    }
}

/// Returns a server's current list, or the last known list if the server does not answer in time.
/// The error says why there is none.
pub(super) async fn list(
    session: &Arc<Session>,
    upstream: &Arc<Upstream>,
    kind: Kind,
    params: &str,
) -> Fetched {
    let wait = session.hub().gateway().several.start_wait;
    let standing = &upstream.notes.standing;
    let known = || session.hub().known().list(upstream.name(), kind);
    let before = known();
    let wait = match before {
        Some(_) => wait,
        None => session
            .hub()
            .known()
            .patience(upstream.name(), kind.list().0, wait),
    };
    let patience = match upstream.is_starting() {
        true if before.is_some() => Duration::ZERO,
        true => standing.patience(Awaited::Start, wait),
        false => standing.patience(Awaited::List(kind), wait),
    };
    let fetch = fetch(session, upstream, kind, params);
    let why = match timeout(patience, fetch).await {
        Ok(Ok(list)) => return Ok(list),
        Ok(Err(why)) => why,
        Err(_) => SILENT.to_owned(),
    };
    if why == SILENT && (before.is_none() || !patience.is_zero()) {
        session.note_fault(upstream, SILENT).await;
    }
    if why == SILENT && before.is_none() {
        let known = session.hub().known();
        known.note_silence(upstream.name(), kind.list().0);
    }
    let missed = Missed {
        shown: before.clone(),
        params: params.to_owned(),
    };
    standing.miss(kind, missed);
    // The list may have arrived after the time limit. The client was not told about it then, so the
    // list is used now.
    match known() {
        now if now == before => before.ok_or(why),
        now => {
            standing.take_missed(kind);
            now.ok_or(why)
        }
    }
}

/// Begins to fetch a list, or joins a running fetch.
fn fetch(session: &Arc<Session>, upstream: &Arc<Upstream>, kind: Kind, params: &str) -> Fetch {
    let mut fetches = upstream.notes.fetches.under_way.lock();
    if let Some(fetch) = fetches.get(&kind) {
        return fetch.clone();
    }
    let (asks, of, params) = (Arc::clone(session), Arc::clone(upstream), params.to_owned());
    let fetch = async move { fetched(&asks, &of, kind, &params).await };
    let fetch = fetch.boxed().shared();
    fetches.insert(kind, fetch.clone());
    drop(fetches);
    // The fetch continues even if nobody waits for it.
    let (going_on, of) = (fetch.clone(), Arc::clone(upstream));
    tokio::spawn(async move {
        drop(going_on.clone().await);
        let mut fetches = of.notes.fetches.under_way.lock();
        if fetches
            .get(&kind)
            .is_some_and(|known| known.ptr_eq(&going_on))
        {
            fetches.remove(&kind);
        }
    });
    fetch
}

async fn fetched(
    session: &Arc<Session>,
    upstream: &Arc<Upstream>,
    kind: Kind,
    params: &str,
) -> Fetched {
    let list = match settled(session, upstream, kind, params).await {
        Ok(list) => Arc::new(list),
        Err(error) => {
            let why = why(&error);
            session.note_fault(upstream, &why).await;
            keep(session, upstream, FIRST_PAUSE);
            return Err(why);
        }
    };
    session
        .hub()
        .known()
        .learn_list(upstream.name(), kind, &list);
    upstream.notes.standing.came(Awaited::Start);
    upstream.notes.standing.came(Awaited::List(kind));
    session.note_recovery(upstream);
    let missed = upstream.notes.standing.take_missed(kind);
    if missed.is_some_and(|missed| missed.shown.as_ref() != Some(&list)) {
        session.hub().catalogue.forget(kind);
        session.tell_changed(kind).await;
    }
    Ok(list)
}

/// Fetches a server's list, and repeats this if the list changed during the fetch. Otherwise, the
/// pages could come from two different states, or an old list could replace a newer one.
async fn settled(
    session: &Arc<Session>,
    upstream: &Arc<Upstream>,
    kind: Kind,
    params: &str,
) -> Result<List, ConnectionError> {
    let mut tries = 1..=MOST_TRIES;
    loop {
        let before = upstream.notes.fetches.changes(kind);
        let list = pages(session, upstream, kind, params).await?;
        tries.next();
        if tries.is_empty() || upstream.notes.fetches.changes(kind) == before {
            return Ok(list);
        }
    }
}

/// Fetches all pages of a server's list. Also returns the other members of the first page.
pub(super) async fn pages(
    session: &Arc<Session>,
    upstream: &Arc<Upstream>,
    kind: Kind,
    params: &str,
) -> Result<List, ConnectionError> {
    let (method, member) = kind.list();
    let mut params: Map<String, Value> = serde_json::from_str(params).unwrap_or_default();
    params.remove("cursor");
    let (mut entries, mut first, mut bytes) = (Vec::new(), None, 0);
    for _ in 0..MOST_PAGES {
        let asked = Value::from(params.clone()).to_string();
        let frame = session.ask(upstream, method, &asked).await?;
        let answers = messages(&frame);
        let Some(result) = answers.first().and_then(|answer| answer.result) else {
            // A server without such a list answers with an error, so the list is empty. If the
            // server has sent a page or had entries before, the error is a failure.
            let answer: Value = serde_json::from_slice(&frame).unwrap_or_default();
            let code = answer["error"]["code"].as_i64();
            if code == Some(error_code::METHOD_NOT_FOUND) && first.is_none() {
                break;
            }
            let known = session.hub().known().list(upstream.name(), kind);
            if first.is_some() || known.is_some_and(|known| !known.entries.is_empty()) {
                let code = code.map(|code| format!(" {code}")).unwrap_or_default();
                return Err(ConnectionError::NotMcp(format!(
                    "error{code} to `{method}`"
                )));
            }
            break;
        };
        let mut page: BTreeMap<String, &RawValue> =
            serde_json::from_str(result.get()).unwrap_or_default();
        let listed = page.remove(member).map_or("[]", RawValue::get);
        let listed_bytes = listed.len();
        let listed: Vec<&RawValue> = serde_json::from_str(listed).unwrap_or_default();
        entries.extend(listed.into_iter().map(|raw| raw.get().to_owned()));
        bytes += listed_bytes;
        if bytes > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(ConnectionError::NotMcp(format!(
                "more than {most} MiB to `{method}`"
            )));
        }
        let cursor = page
            .remove("nextCursor")
            .and_then(|raw| serde_json::from_str(raw.get()).ok());
        first.get_or_insert_with(|| {
            let value = |raw: &RawValue| serde_json::from_str(raw.get()).unwrap_or_default();
            let rest = page.iter().map(|(name, raw)| (name.clone(), value(raw)));
            rest.collect()
        });
        match cursor {
            Some(cursor @ Value::String(_)) => drop(params.insert("cursor".to_owned(), cursor)),
            _ => break,
        }
    }
    let rest = first.unwrap_or_default();
    Ok(List { entries, rest })
}

/// Retries, with growing delays, until a server is running and its missed lists have been fetched.
pub(super) fn keep(session: &Arc<Session>, upstream: &Arc<Upstream>, after: Duration) {
    if upstream.notes.is_kept.swap(true, Ordering::AcqRel) {
        return;
    }
    let (session, slot) = (Arc::downgrade(session), upstream.slot);
    tokio::spawn(async move {
        let mut pause = after;
        loop {
            if !pause.is_zero() {
                sleep(pause).await;
            }
            if try_it(&session, slot).await {
                return;
            }
            pause = (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        }
    });
}

/// Makes one attempt to start the server and to fetch its missed lists. Returns whether nothing
/// remains to be done.
async fn try_it(session: &Weak<Session>, slot: Slot) -> bool {
    let Some(session) = session.upgrade().filter(|one| !one.is_closing()) else {
        return true;
    };
    let Some(upstream) = session.upstreams.get(slot) else {
        return true;
    };
    let mut tried = upstream.ready(&session, true).await.map(drop);
    for (kind, missed) in upstream.notes.standing.missed() {
        if tried.is_ok() {
            let fetched = fetch(&session, &upstream, kind, &missed.params).await;
            tried = fetched.map(drop).map_err(ConnectionError::Gone);
        }
    }
    match tried {
        Ok(()) => {
            upstream.notes.standing.came(Awaited::Start);
            session.note_recovery(&upstream);
            upstream.notes.is_kept.store(false, Ordering::Release);
            // If another list was missed during this attempt, no new task was started for it, so
            // check again.
            upstream.notes.standing.missed().is_empty()
                || upstream.notes.is_kept.swap(true, Ordering::AcqRel)
        }
        Err(error) => {
            session.note_fault(&upstream, &why(&error)).await;
            false
        }
    }
}

impl Session {
    /// Informs the client that a list has changed.
    pub(crate) async fn tell_changed(self: &Arc<Self>, kind: Kind) {
        let Some(method) = kind.changed() else { return };
        if self.is_scout() {
            for listener in self.hub().listeners() {
                listening::tell(&listener, kind).await;
            }
        } else if !listening::tell(self, kind).await {
            let frame = frame::notification(method, None);
            self.to_client(frame::line(frame)).await;
        }
    }
}
