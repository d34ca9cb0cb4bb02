//! Builds the objects that a command uses (store, ledger, pipeline) from its settings.

use std::path::PathBuf;
use std::sync::Arc;

use spillgate_artifact::{Clock, Handle, Principal, SystemClock, TokenBudget};
use spillgate_llm::{ChatModel, Target};
use spillgate_offload::{FileLedger, Ledger, Offloader, Policy};
use spillgate_retrieval::audience;
use spillgate_store::{ArtifactStore, Owners, Partition, Receipt, SharedStore, StoreError, Upkeep};
use spillgate_untrusted::shell_word;

use crate::args::{Common, LimitArgs};
use crate::audit::{Audit, AuditedStore, Whose};
use crate::failure::Failure;
use crate::handle_arg::HandleArg;
use crate::layers::{client_file, config_file};
use crate::marks;
use crate::models;
use crate::settings::Settings;
use crate::stores::{Store, Sweeps};
use crate::tenant_settings::TenantLimits;

/// Default budget of a page on the command line, in tokens. It is so large that the size in bytes
/// is enough to show that an ordinary page fits, so no tokenizer has to be loaded.
pub(crate) const COMMAND_LINE_PAGE: u64 = 10_000;

/// Default budget of a page in the gateway, in tokens. It is about 10,000 bytes, which every client
/// passes on completely (docs/spec/limits.md, "What clients take").
pub(crate) const GATEWAY_PAGE: u64 = 2500;

/// The file of the ledger, in the directory of a store or of its cache.
const LEDGER: &str = "ledger.ndjson";

/// The objects that a command works with.
#[derive(Debug)]
pub(crate) struct App {
    common: Common,
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    pub(crate) ledger: Arc<FileLedger>,
    pub(crate) offloader: Offloader,
    /// The audit log, if there is one.
    pub(crate) audit: Option<Arc<Audit>>,
    upkeep: Upkeep,
}

/// The stores of those who share outputs: the operator's, and its partitions.
#[derive(Debug)]
struct OwnersOfShares {
    store: Store,
    settings: Settings,
    clock: Arc<dyn Clock>,
}

impl Owners for OwnersOfShares {
    fn store_of(&self, owner: Option<&Partition>) -> Result<Arc<dyn ArtifactStore>, StoreError> {
        let Some(owner) = owner else {
            return Ok(self.store.artifacts());
        };
        let limits = TenantLimits::default();
        let settings = (&self.settings, &limits);
        let opened = self.store.partition(owner, settings, &self.clock, None);
        let opened = opened.map_err(|failure| StoreError::Io {
            path: owner.name().into(),
            source: std::io::Error::other(failure.text().to_owned()),
        })?;
        Ok(opened.artifacts())
    }
}

/// Returns a store that records what is done with its outputs, if there is an audit log.
fn recorded(
    audit: Option<&Arc<Audit>>,
    store: Arc<dyn ArtifactStore>,
    principal: &Principal,
) -> Arc<dyn ArtifactStore> {
    match audit {
        None => store,
        Some(audit) => Arc::new(AuditedStore {
            store,
            audit: Arc::clone(audit),
            principal: principal.clone(),
            session: None,
        }),
    }
}

/// What a command does with the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Reads stored outputs.
    Looking,
    /// Stores outputs.
    Offloading,
    /// Serves clients.
    Serving,
}

impl App {
    /// Builds the objects for commands that read stored outputs.
    pub(crate) fn for_looking(common: &Common) -> Result<Self, Failure> {
        let limits = LimitArgs::default();
        let settings = Settings::load(common, &limits)?;
        // The rules also say what look-ups may show of secrets.
        let policy = settings.policy(&limits)?;
        Self::build(common, settings, policy, Purpose::Looking)
    }

    /// Builds the objects for commands that store outputs. The given limits override the settings.
    pub(crate) fn for_offloading(common: &Common, limits: &LimitArgs) -> Result<Self, Failure> {
        let settings = Settings::load(common, limits)?;
        let policy = settings.policy(limits)?;
        Self::build(common, settings, policy, Purpose::Offloading)
    }

    /// Builds the objects for a process that serves clients. Because clients wait for each result,
    /// a result may be synced to disk after it was returned, and a separate thread evicts artifacts
    /// to make room.
    pub(crate) fn for_gateway(common: &Common, limits: &LimitArgs) -> Result<Self, Failure> {
        let settings = Settings::load(common, limits)?;
        let policy = settings.policy(limits)?;
        Self::build(common, settings, policy, Purpose::Serving)
    }

    fn build(
        common: &Common,
        settings: Settings,
        policy: Policy,
        purpose: Purpose,
    ) -> Result<Self, Failure> {
        let upkeep = settings.upkeep();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (serves, stores) = (purpose == Purpose::Serving, purpose != Purpose::Looking);
        let audit = settings.audit.log(serves)?;
        let removals = audit
            .as_ref()
            .map(|audit| audit.removals(Whose::Principal(Principal::local())));
        let store = Store::open(&settings, (serves, stores), &clock, removals)?;
        let ledger = store.files().base().join(LEDGER);
        let ledger = Arc::new(FileLedger::new(ledger));
        let door = audience::command_line(&store_option(common));
        let artifacts = match purpose {
            // Whoever uses a command reads the files of the store anyway.
            Purpose::Looking | Purpose::Offloading => store.artifacts(),
            Purpose::Serving => recorded(audit.as_ref(), store.artifacts(), &Principal::local()),
        };
        let offloader = Offloader::new(
            artifacts,
            policy,
            settings.tokenizer.counter(),
            door,
            clock,
            Arc::clone(&ledger) as Arc<dyn Ledger>,
        )
        .with_short_ids(settings.short_ids())
        .with_redactor(settings.redactor()?);
        marks::install(offloader.marks_texts());
        Ok(Self {
            common: common.clone(),
            settings,
            store,
            ledger,
            offloader,
            audit,
            upkeep,
        })
    }

    /// Returns the objects for one principal: the same rules, with a store and a ledger of its own. The
    /// principal is only for the audit log; without it, nothing should be read or stored, but it can be
    /// removed.
    pub(crate) fn of_tenant(
        &self,
        (partition, principal): (&Partition, Option<&Principal>),
        limits: &TenantLimits,
    ) -> Result<Self, Failure> {
        let settings = self.settings.of_tenant(limits);
        let clock = self.offloader.clock();
        let whose = match principal {
            Some(principal) => Whose::Principal(principal.clone()),
            None => Whose::Partition(partition.clone()),
        };
        let removals = self.audit.as_ref().map(|audit| audit.removals(whose));
        let store = self
            .store
            .partition(partition, (&settings, limits), clock, removals)?;
        let ledger = store.files().base().join(LEDGER);
        let ledger = Arc::new(FileLedger::new(ledger));
        let owners = OwnersOfShares {
            store: self.store.clone(),
            settings: self.settings.clone(),
            clock: Arc::clone(clock),
        };
        let shared = SharedStore::new(
            store.artifacts(),
            store.records(),
            Arc::new(owners),
            Arc::clone(clock),
        );
        let principal = principal.cloned().unwrap_or_else(Principal::local);
        let artifacts = recorded(self.audit.as_ref(), Arc::new(shared), &principal);
        let offloader = self.offloader.clone().with_store(artifacts);
        let offloader = offloader.with_ledger(Arc::clone(&ledger) as Arc<dyn Ledger>);
        Ok(Self {
            common: self.common.clone(),
            upkeep: settings.upkeep(),
            settings,
            store,
            ledger,
            offloader,
            audit: self.audit.clone(),
        })
    }

    /// Records in a ledger that is used already. What it has not written yet is then not lost.
    pub(crate) fn recording_in(self, ledger: &Arc<FileLedger>) -> Self {
        let offloader = self.offloader;
        Self {
            offloader: offloader.with_ledger(Arc::clone(ledger) as Arc<dyn Ledger>),
            ledger: Arc::clone(ledger),
            ..self
        }
    }

    /// Returns the handle of the output to which the user's argument refers.
    pub(crate) fn handle(&self, typed: &HandleArg) -> Result<Handle, Failure> {
        typed.find(&self.store)
    }

    /// Returns the budget of a page on the command line.
    pub(crate) fn page(&self, asked: Option<u64>) -> TokenBudget {
        let asked = asked.filter(|&tokens| tokens > 0);
        TokenBudget::new(
            asked
                .or(self.settings.page_tokens)
                .unwrap_or(COMMAND_LINE_PAGE),
        )
    }

    /// Returns the budget of a page in the gateway.
    pub(crate) fn gateway_page(&self) -> TokenBudget {
        TokenBudget::new(self.settings.page_tokens.unwrap_or(GATEWAY_PAGE))
    }

    /// Returns a model that tries these targets in this order; `None` if there are none.
    pub(crate) fn model(&self, targets: &[Target]) -> Result<Option<Arc<dyn ChatModel>>, Failure> {
        models::model(&self.settings, targets)
    }

    /// Returns the addresses of the providers of these targets.
    pub(crate) fn addresses(&self, targets: &[Target]) -> Vec<String> {
        models::addresses(&self.settings, targets)
    }

    /// Returns the files that the configuration is read from.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let ours = config_file(&self.common).ok().flatten();
        ours.into_iter().chain(self.client_file()).collect()
    }

    /// Returns the client's list of servers that was given as the configuration.
    pub(crate) fn client_file(&self) -> Option<PathBuf> {
        client_file(&self.common)
    }

    /// Returns the options that select the same store in another command.
    pub(crate) fn store_option(&self) -> String {
        store_option(&self.common)
    }

    /// Removes artifacts if the store is over its quota. Every few minutes, also removes artifacts
    /// that are too old, and the leftovers of killed writers. Errors are only logged, because the
    /// command itself has succeeded.
    pub(crate) fn tidy(&self, stored: Option<&Receipt>) {
        self.keep_up(stored, Sweeps::Waiting);
    }

    /// Does what [`App::tidy`] does, except for sweeping a bucket: somebody waits.
    pub(crate) fn tidy_quickly(&self, stored: Option<&Receipt>) {
        self.keep_up(stored, Sweeps::Never);
    }

    /// Does what [`App::tidy`] does, and sweeps a bucket in the background.
    pub(crate) fn tidy_in_background(&self) {
        self.keep_up(None, Sweeps::InBackground);
    }

    fn keep_up(&self, stored: Option<&Receipt>, sweeps: Sweeps) {
        let spared = stored.map(Receipt::handle);
        let now = SystemClock.now();
        let kept = self.store.keep_up(&self.upkeep, spared, now, sweeps);
        if let Err(error) = kept {
            tracing::warn!(%error, "expired outputs could not be removed from the store");
        }
    }

    /// Removes the leftovers of killed writers. A gateway does so at its start, because a killed
    /// gateway is usually restarted soon.
    pub(crate) fn clear_leftovers(&self) {
        if let Err(error) = self.store.files().remove_leftovers(self.upkeep.idle) {
            tracing::warn!(%error, "files left by killed processes could not be removed from the store");
        }
    }
}

/// Formats the options as they are typed in a shell.
fn store_option(common: &Common) -> String {
    let shared = if common.shared_store {
        " --shared-store"
    } else {
        ""
    };
    let Some(path) = &common.store else {
        return shared.to_owned();
    };
    format!(
        " --store {}{shared}",
        shell_word(&path.display().to_string())
    )
}
