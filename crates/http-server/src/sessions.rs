//! The sessions of clients, and how long each has been idle.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::auth::SessionOwner;
use crate::backend::Peer;
use crate::client_streams::ClientStreams;
use crate::problem::Problem;

/// Number of random bytes in a session id. 192 random bits cannot be guessed.
const ID_BYTES: usize = 24;

/// The error text for a session that has ended or has never existed.
const UNKNOWN: &str = "there is no such session; begin another with initialize";

/// A client's session.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) streams: Arc<ClientStreams>,
    owner: SessionOwner,
    last: Mutex<Instant>,
}

impl Client {
    /// Records that the client has just sent something.
    pub(crate) fn touch(&self) {
        *guarded(&self.last) = Instant::now();
    }

    fn is_idle(&self, limit: Duration) -> bool {
        guarded(&self.last).elapsed() >= limit && !self.streams.is_read()
    }

    /// Ends the session. Unless `hurried` is true, requests in flight may still be answered.
    pub(crate) async fn end(&self, hurried: bool) {
        self.streams.end_lasting();
        self.peer.close(hurried).await;
        self.streams.fail("the session has ended").await;
    }
}

/// The sessions of all clients.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<String, Arc<Client>>>,
    most: usize,
    idle: Duration,
    /// What ids of sessions begin with.
    prefix: String,
}

fn guarded<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Sessions {
    /// The ids of sessions begin with the name of the `replica`, if it has one, so that a load
    /// balancer can find it.
    pub(crate) fn new(most: usize, idle: Duration, replica: Option<&str>) -> Self {
        Self {
            prefix: replica.map_or_else(String::new, |name| format!("{name}.")),
            open: Mutex::new(HashMap::new()),
            most,
            idle,
        }
    }

    /// Begins a session of `owner`. Fails if the maximum number of sessions is reached, of all or of its
    /// principal.
    pub(crate) fn begin(
        &self,
        (owner, share): (SessionOwner, Option<usize>),
        streams: &Arc<ClientStreams>,
        peer: impl FnOnce() -> Arc<dyn Peer>,
    ) -> Result<Arc<Client>, Problem> {
        let mut bytes = [0; ID_BYTES];
        if getrandom::fill(&mut bytes).is_err() {
            let what = "the system has no random numbers";
            return Err(Problem::http(StatusCode::INTERNAL_SERVER_ERROR, what));
        }
        let id = format!("{}{}", self.prefix, BASE64_URL_SAFE_NO_PAD.encode(bytes));
        let mut open = guarded(&self.open);
        if open.len() >= self.most {
            let most = self.most;
            let what = format!(
                "there are {most} sessions already, as many as `http.max_sessions` allows; end one with DELETE, or try again later"
            );
            return Err(Problem::http(StatusCode::SERVICE_UNAVAILABLE, what).again_in(30));
        }
        let of_owner = || {
            let all = open.values();
            all.filter(|client| client.owner.is_same_principal(&owner))
                .count()
        };
        if let Some(share) = share.filter(|share| of_owner() >= *share) {
            let what = format!(
                "you have {share} sessions already, as many as `tenants.max_sessions` allows; end one with DELETE, or try again later"
            );
            return Err(Problem::http(StatusCode::TOO_MANY_REQUESTS, what).again_in(30));
        }
        let client = Arc::new(Client {
            id: id.clone(),
            peer: peer(),
            streams: Arc::clone(streams),
            owner,
            last: Mutex::new(Instant::now()),
        });
        open.insert(id, Arc::clone(&client));
        Ok(client)
    }

    /// Returns a session that belongs to `asker`. A session of another owner is reported as
    /// unknown.
    pub(crate) fn find(&self, id: &str, asker: &SessionOwner) -> Result<Arc<Client>, Problem> {
        let client = guarded(&self.open).get(id).cloned();
        let client = client.filter(|client| client.owner == *asker);
        let client = client.ok_or_else(|| Problem::http(StatusCode::NOT_FOUND, UNKNOWN))?;
        client.touch();
        Ok(client)
    }

    /// Whether a session with this id exists.
    pub(crate) fn knows(&self, id: &str) -> bool {
        guarded(&self.open).contains_key(id)
    }

    /// Removes a session. Returns whether it existed.
    pub(crate) fn forget(&self, id: &str) -> bool {
        guarded(&self.open).remove(id).is_some()
    }

    /// Removes and returns the sessions that have been idle longer than the limit.
    pub(crate) fn take_idle(&self) -> Vec<Arc<Client>> {
        let idle = |_: &String, client: &mut Arc<Client>| client.is_idle(self.idle);
        let mut open = guarded(&self.open);
        let gone = open.extract_if(idle);
        gone.map(|(_, client)| client).collect()
    }

    /// Removes and returns the sessions whose owner may not come in any more.
    pub(crate) fn take_barred(&self, may: impl Fn(&SessionOwner) -> bool) -> Vec<Arc<Client>> {
        let mut open = guarded(&self.open);
        let gone = open.extract_if(|_, client| !may(&client.owner));
        gone.map(|(_, client)| client).collect()
    }

    /// Returns all sessions, which stay open.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        guarded(&self.open).values().cloned().collect()
    }

    /// Removes and returns all sessions.
    pub(crate) fn take_all(&self) -> Vec<Arc<Client>> {
        guarded(&self.open)
            .drain()
            .map(|(_, client)| client)
            .collect()
    }
}
