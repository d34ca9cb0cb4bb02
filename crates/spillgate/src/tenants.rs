//! The tenants of a gateway over HTTP: each principal has a store, a ledger, a gateway and an API of its
//! own.
//!
//! Nothing is filtered: the objects that serve a principal know no other store. They are made at its
//! first request and dropped when it is idle.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use parking_lot::Mutex;
#[cfg(feature = "ui")]
use reqwest::StatusCode;
use spillgate_artifact::{Clock, Principal, SystemClock};
use spillgate_gateway::{Gateway, Hub};
use spillgate_http_api::{Api, Turns};
#[cfg(feature = "ui")]
use spillgate_http_api::{Caller, Problem};
use spillgate_http_server::{DoorLimits, Doors, Unopened};
#[cfg(feature = "ui")]
use spillgate_page::{Door, router_of_many};
use spillgate_store::{Partition, PartitionKey};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::cmd::mcp;
use crate::failure::Failure;
use crate::server_args::Mcp;
use crate::tenant_settings::TenantLimits;
use crate::wiring::App;

/// Time without a request after which what serves a principal is dropped. Its next request makes it
/// again, and starts its servers again.
const IDLE: Duration = Duration::from_secs(15 * 60);

/// How many principals with the maximum number of sessions there can be, unless the settings say otherwise.
const SHARES: usize = 4;

/// How many gateways are closed at the same time.
const CLOSED_AT_ONCE: usize = 64;

/// Minimum time between two visits to the stores of principals who make no requests, to remove what is
/// too old.
const VISITS: Duration = Duration::from_secs(60 * 60);

/// The tenants.
pub(crate) struct Tenants {
    /// The objects with the operator's store, from which those of a principal are made.
    app: Mutex<Arc<App>>,
    mcp: Mcp,
    /// The gateway whose metrics and limits all have in common; `None` without an MCP endpoint.
    hub: Option<Arc<Hub>>,
    /// The limits of the API that all have in common; `None` without an API.
    turns: Option<Turns>,
    key: PartitionKey,
    open: Mutex<HashMap<Principal, Arc<Tenant>>>,
    visited: Mutex<Option<Instant>>,
    /// Whether the server ends, so that nothing is tidied any more.
    is_ending: AtomicBool,
    runtime: Handle,
}

impl fmt::Debug for Tenants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tenants")
    }
}

/// What serves one principal.
pub(crate) struct Tenant {
    pub(crate) app: App,
    pub(crate) doors: Arc<Doors>,
    hub: Option<Arc<Hub>>,
    #[cfg(feature = "ui")]
    page: Mutex<Option<Arc<spillgate_page::Page>>>,
    used: Mutex<Instant>,
}

impl Tenants {
    /// Returns the tenants of a server. Must be called in a runtime.
    pub(crate) fn new(
        app: Arc<App>,
        mcp: &Mcp,
        hub: Option<Arc<Hub>>,
        turns: Option<Turns>,
    ) -> Result<Arc<Self>, Failure> {
        let key = app.store.partition_key()?;
        Ok(Arc::new(Self {
            app: Mutex::new(app),
            mcp: mcp.clone(),
            hub,
            turns,
            key,
            open: Mutex::default(),
            visited: Mutex::default(),
            is_ending: AtomicBool::new(false),
            runtime: Handle::current(),
        }))
    }

    /// Returns what serves a principal; makes it if this is its first request for a while.
    pub(crate) async fn tenant(
        self: &Arc<Self>,
        principal: &Principal,
    ) -> Result<Arc<Tenant>, String> {
        if let Some(tenant) = self.open.lock().get(principal) {
            *tenant.used.lock() = Instant::now();
            return Ok(Arc::clone(tenant));
        }
        let (tenants, of) = (Arc::clone(self), principal.clone());
        let opening = spawn_blocking(move || tenants.opened(&of));
        let opened = opening.await.map_err(|error| error.to_string())?;
        let opened = opened.map_err(|failure| failure.text().to_owned())?;
        let mut open = self.open.lock();
        // Another request may have opened it at the same time.
        let tenant = open.entry(principal.clone()).or_insert(Arc::new(opened));
        Ok(Arc::clone(tenant))
    }

    fn opened(&self, principal: &Principal) -> Result<Tenant, Failure> {
        let base = Arc::clone(&self.app.lock());
        let limits = base.settings.tenants.limits(Some(principal));
        let app = base.of_tenant((&self.key.partition(principal), Some(principal)), &limits)?;
        let hub = self.hub.as_ref().map(|hub| {
            let gateway = self.gateway(&app)?;
            Ok::<_, Failure>(hub.beside(gateway))
        });
        let hub = hub.transpose()?;
        let api = self.api(&app)?;
        Ok(Tenant {
            doors: Arc::new(Doors::new(hub.clone(), api, door_limits(&base, &limits))),
            app,
            hub,
            #[cfg(feature = "ui")]
            page: Mutex::default(),
            used: Mutex::new(Instant::now()),
        })
    }

    /// Returns the gateway of a principal. What its servers list is not read from the file that all
    /// gateways of this machine share: resources, tasks and texts can be a principal's own.
    fn gateway(&self, app: &App) -> Result<Gateway, Failure> {
        let mut gateway = mcp::gateway(app, &self.mcp)?;
        gateway.several.known = None;
        Ok(gateway)
    }

    /// Returns the API of a principal, if there is one.
    fn api(&self, app: &App) -> Result<Option<Api>, Failure> {
        let api = |turns: &Turns| Ok(mcp::http::api(app)?.sharing(turns.clone()));
        self.turns.as_ref().map(api).transpose()
    }

    /// Returns what serves a principal by a new configuration, and the gateway for its hub. Its sessions
    /// go on; its API and its page are made again.
    fn reopened(
        &self,
        (principal, tenant): (&Principal, &Tenant),
        base: &App,
    ) -> Result<(Tenant, Option<Gateway>), Failure> {
        let limits = base.settings.tenants.limits(Some(principal));
        let app = base.of_tenant((&self.key.partition(principal), Some(principal)), &limits)?;
        let app = app.recording_in(&tenant.app.ledger);
        let hub = tenant.hub.as_ref();
        let gateway = hub.map(|_| self.gateway(&app)).transpose()?;
        let api = self.api(&app)?;
        let new = Tenant {
            doors: Arc::new(tenant.doors.with_api(api, door_limits(base, &limits))),
            app,
            hub: hub.cloned(),
            #[cfg(feature = "ui")]
            page: Mutex::default(),
            used: Mutex::new(*tenant.used.lock()),
        };
        Ok((new, gateway))
    }

    fn all(&self) -> Vec<(Principal, Arc<Tenant>)> {
        let open = self.open.lock();
        open.iter()
            .map(|(of, tenant)| (of.clone(), Arc::clone(tenant)))
            .collect()
    }

    /// Uses a new configuration. What serves principals now uses the new rules, servers and limits.
    pub(crate) async fn reload(self: &Arc<Self>, app: Arc<App>) {
        *self.app.lock() = Arc::clone(&app);
        for (principal, tenant) in self.all() {
            let (tenants, base) = (Arc::clone(self), Arc::clone(&app));
            let (of, old) = (principal.clone(), Arc::clone(&tenant));
            let made = spawn_blocking(move || tenants.reopened((&of, &old), &base));
            match made.await {
                Ok(Ok((new, gateway))) => {
                    if let (Some(hub), Some(gateway)) = (&tenant.hub, gateway) {
                        hub.reload(gateway).await;
                    }
                    // It may have been dropped meanwhile, because it was idle.
                    let mut open = self.open.lock();
                    let open = open.get_mut(&principal);
                    if let Some(open) = open.filter(|open| Arc::ptr_eq(open, &tenant)) {
                        *open = Arc::new(new);
                    }
                }
                Ok(Err(failure)) => {
                    let what = failure.text();
                    tracing::error!(what, "a principal keeps the old configuration");
                }
                Err(error) => tracing::error!(%error, "a principal keeps the old configuration"),
            }
        }
    }

    /// Removes what is too old or too much in all stores, and drops what serves nobody any more. Must be
    /// called on a thread outside the runtime.
    pub(crate) fn tidy(&self) {
        let base = Arc::clone(&self.app.lock());
        let mut done = Vec::new();
        for (principal, tenant) in self.all() {
            if self.is_ending.load(Ordering::Relaxed) {
                return;
            }
            tenant.app.ledger.flush_inline(SystemClock.now());
            tenant.app.tidy(None);
            done.push(self.key.partition(&principal));
        }
        if self.is_ending.load(Ordering::Relaxed) {
            return;
        }
        self.drop_idle();
        let is_due = |visited: Instant| visited.elapsed() >= VISITS;
        if self.visited.lock().is_some_and(|visited| !is_due(visited)) {
            return;
        }
        *self.visited.lock() = Some(Instant::now());
        let named: HashMap<Partition, Principal> = base
            .settings
            .tenants
            .principals()
            .map(|principal| (self.key.partition(&principal), principal))
            .collect();
        let all = base.store.partitions().unwrap_or_else(|error| {
            tracing::warn!(%error, "the stores of the principals could not be listed");
            Vec::new()
        });
        for partition in all.iter().filter(|one| !done.contains(one)) {
            if self.is_ending.load(Ordering::Relaxed) {
                return;
            }
            let principal = named.get(partition);
            let limits = base.settings.tenants.limits(principal);
            match base.of_tenant((partition, principal), &limits) {
                Ok(app) => app.tidy(None),
                Err(failure) => {
                    let what = failure.text();
                    tracing::warn!(what, %partition, "a store of a principal could not be opened");
                }
            }
        }
    }

    /// Lets [`tidy`](Self::tidy) end before the next store.
    pub(crate) fn end_tidying(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Records what passed through unchanged since the last time.
    pub(crate) fn flush(&self) {
        for (_, tenant) in self.all() {
            tenant.app.ledger.flush_inline(SystemClock.now());
        }
    }

    fn drop_idle(&self) {
        let is_idle = |tenant: &Arc<Tenant>| {
            tenant.used.lock().elapsed() >= IDLE
                && !tenant.doors.is_in_use()
                && Arc::strong_count(&tenant.doors) == 1
                && Arc::strong_count(tenant) == 1
        };
        let gone: Vec<Arc<Tenant>> = {
            let mut open = self.open.lock();
            let gone = open.extract_if(|_, tenant| is_idle(tenant));
            gone.map(|(_, tenant)| tenant).collect()
        };
        for tenant in gone {
            if let Some(hub) = &tenant.hub {
                self.runtime.block_on(hub.close(false));
            }
        }
    }

    /// Ends the servers of all.
    pub(crate) async fn close(&self) {
        let hubs = self.all().into_iter();
        let hubs = hubs.filter_map(|(_, tenant)| tenant.hub.clone());
        let closing = stream::iter(hubs);
        closing
            .for_each_concurrent(CLOSED_AT_ONCE, |hub| async move { hub.close(true).await })
            .await;
    }
}

/// Returns the limits that hold where the requests of a principal arrive. Without a limit of its own, no
/// principal can have all sessions.
fn door_limits(app: &App, limits: &TenantLimits) -> DoorLimits {
    let own = limits.max_sessions.map(|most| most.get() as usize);
    let share = || app.settings.http.sessions().div_ceil(SHARES);
    DoorLimits {
        requests_per_minute: limits.requests_per_minute,
        max_sessions: Some(own.unwrap_or_else(share)),
    }
}

/// The tenants as the HTTP server asks for them.
#[derive(Debug)]
pub(crate) struct ByPrincipal(pub(crate) Arc<Tenants>);

impl spillgate_http_server::Tenants for ByPrincipal {
    fn doors<'a>(&'a self, of: &'a Principal) -> BoxFuture<'a, Result<Arc<Doors>, Unopened>> {
        async move {
            let tenant = self.0.tenant(of).await.map_err(Unopened)?;
            Ok(Arc::clone(&tenant.doors))
        }
        .boxed()
    }
}

/// Returns the routes of the pages, of which each principal reaches its own, and no other. `may` tells
/// whether a principal may come in still: a cookie lasts longer than a token that was taken away.
#[cfg(feature = "ui")]
pub(crate) fn pages(
    tenants: &Arc<Tenants>,
    may: impl Fn(&Principal) -> bool + Send + Sync + 'static,
) -> spillgate_page::Router {
    use crate::cmd::ui;

    let door = Arc::new(Door::new(Arc::new(SystemClock), true));
    let (tenants, own) = (Arc::clone(tenants), Arc::clone(&door));
    let turns = ui::turns();
    let page_of = move |caller: Caller| {
        let (tenants, door, turns) = (Arc::clone(&tenants), Arc::clone(&own), turns.clone());
        let principal = caller.0.parse::<Principal>().ok().filter(|one| may(one));
        async move {
            let out =
                || Problem::refused(StatusCode::UNAUTHORIZED, "the token is not valid any more");
            let principal = principal.ok_or_else(out)?;
            let tenant = tenants
                .tenant(&principal)
                .await
                .map_err(|what| unopened(&what))?;
            if tenant.doors.too_early().is_some() {
                let what = "too many requests; try again later";
                return Err(Problem::refused(StatusCode::TOO_MANY_REQUESTS, what));
            }
            let opening = spawn_blocking(move || {
                let mut page = tenant.page.lock();
                if page.is_none() {
                    let viewer = ui::Viewer::Client;
                    *page = Some(ui::page(&tenant.app, viewer, door, turns, None)?);
                }
                Ok::<_, Failure>(page.clone())
            });
            let opened = opening
                .await
                .map_err(|error| unopened(&error.to_string()))?;
            let opened = opened.map_err(|failure| unopened(failure.text()))?;
            opened.ok_or_else(|| unopened("there is no page"))
        }
        .boxed()
    };
    router_of_many(&door, Arc::new(page_of))
}

#[cfg(feature = "ui")]
fn unopened(what: &str) -> Problem {
    tracing::error!(what, "the store of a principal could not be opened");
    Problem::ours(
        "unavailable",
        "your store cannot be opened now; try again later",
    )
}
