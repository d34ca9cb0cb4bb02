//! A page for a browser: what is stored, what the model saw of it, and what was saved.
//!
//! The HTTP server adds [`Page::router`] below [`PREFIX`], behind its checks of `Host` and `Origin`. The
//! page is HTML that the server writes, with one style sheet and one script of its own; nothing is loaded
//! from elsewhere. Stored texts become text nodes or JSON, never markup. The views read with the same
//! look-ups as the tools of a model, but leave no entry in the ledger: no model saw what a person reads.
//!
//! ```text
//!            door ──▶ list, find           Catalogue ◀─ the newest of the store
//! browser ──▶ cookie   artifact, viewer ──▶ Offloader: marks in place of secrets
//!            headers   meter             ──▶ Account ◀─ the ledger
//! ```

mod actions;
mod artifact;
mod asked;
mod assets;
mod catalogue;
mod diff;
mod door;
mod find;
mod frame;
mod gateway;
mod lens;
mod level;
mod list;
mod meter;
mod plot;
mod routes;
mod runs;
mod shown;
mod table;
mod tree;
mod viewer;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use spillgate_artifact::Handle;
use spillgate_http_api::Api;
use spillgate_offload::{FileLedger, Offloader};
use spillgate_store::ArtifactStore;
use tokio::sync::Semaphore;

use crate::catalogue::Catalogue;
use crate::frame::View;
use crate::lens::{Lens, Rows};
use crate::runs::Runs;
use crate::table::Kept;

pub use crate::door::Door;
pub use crate::routes::{PageOf, router_of_many};
pub use axum::Router;
pub use gateway::{GatewayWatch, WatchedServer, WatchedSetting};

/// The path below which all routes of the page stand.
pub const PREFIX: &str = "/ui";

/// What the page shows, and to whom.
#[derive(Debug)]
pub struct PageParts {
    /// The look-ups, and with them the rules for secrets. They should record nothing in a ledger.
    pub api: Api,
    /// The same for messages to a model that has a shell instead of our tools.
    pub shell: Offloader,
    /// The store that the look-ups read.
    pub store: Arc<dyn ArtifactStore>,
    /// The directory or the address of the store, for the footer.
    pub place: String,
    /// The ledger that the meter adds up.
    pub ledger: Arc<FileLedger>,
    /// Prices in US dollars of a million tokens of a prompt, by model, for the meter.
    pub prices: Vec<(String, f64)>,
    /// The directory of the traces of agents and extractions, if there is one.
    pub traces: Option<PathBuf>,
    /// The gateway that has this page, if one has it.
    pub gateway: Option<Arc<dyn GatewayWatch>>,
    /// Whether the person at the browser is the owner of the store, who may also see the secrets in it.
    pub is_owner: bool,
    /// Who comes in. The pages of several principals have the same door.
    pub door: Arc<Door>,
    /// The version of the program.
    pub version: &'static str,
}

/// The page.
pub struct Page {
    api: Arc<Api>,
    shell: Offloader,
    store: Arc<dyn ArtifactStore>,
    place: String,
    ledger: Arc<FileLedger>,
    prices: Vec<(String, f64)>,
    runs: Runs,
    gateway: Option<Arc<dyn GatewayWatch>>,
    is_owner: bool,
    has_tokens: bool,
    version: &'static str,
    door: Arc<Door>,
    catalogue: Arc<Catalogue>,
    tables: table::Orders,
    /// The rows of logs under a lens, with or without secrets.
    lenses: Kept<(Handle, bool, Lens), Arc<Rows>>,
    /// Permits for searches of all outputs.
    searches: Arc<Semaphore>,
    /// Whether the bytes of an output have secrets, which takes a look at all of them.
    verdicts: Kept<Handle, bool>,
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Page {
    /// Returns a page, and begins to read the list of what is stored on a thread of its own.
    #[must_use]
    pub fn new(parts: PageParts) -> Arc<Self> {
        let offloader = parts.api.tools().offloader.clone();
        let catalogue = Catalogue::new(Arc::clone(&parts.store), offloader);
        Arc::clone(&catalogue).read_all();
        let has_tokens = parts.door.has_tokens();
        Arc::new(Self {
            api: Arc::new(parts.api),
            shell: parts.shell,
            store: parts.store,
            place: parts.place,
            ledger: parts.ledger,
            prices: parts.prices,
            // Runs belong to the owner of the machine, not to the clients of a gateway.
            runs: Runs::new(parts.traces.filter(|_| !has_tokens)),
            gateway: parts.gateway,
            is_owner: parts.is_owner,
            has_tokens,
            version: parts.version,
            door: parts.door,
            catalogue,
            tables: table::Orders::default(),
            lenses: Kept::default(),
            searches: Arc::new(Semaphore::new(find::SEARCHES)),
            verdicts: Kept::default(),
        })
    }

    /// Returns the path of the link that opens the page, with its token; `None` if a person logs in
    /// with a token of the server. The link is valid as long as the server runs.
    #[must_use]
    pub fn link(&self) -> Option<String> {
        self.door.link()
    }

    /// Whether a view is for those who can come to this page.
    fn offers(&self, view: View) -> bool {
        view != View::Runs || !self.has_tokens
    }

    /// Returns the look-ups with marks in place of secrets.
    fn offloader(&self) -> &Offloader {
        &self.api.tools().offloader
    }

    /// Returns the look-ups that show secrets if the owner asks for them, otherwise those with marks.
    fn offloader_for(&self, asks_for_secrets: bool) -> Offloader {
        match asks_for_secrets && self.is_owner {
            true => self.offloader().revealing(),
            false => self.offloader().clone(),
        }
    }
}
