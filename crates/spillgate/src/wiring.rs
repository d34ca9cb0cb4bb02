//! Settings in, working parts out.

use std::path::PathBuf;
use std::sync::Arc;

use spillgate_artifact::{Clock, SystemClock, TokenBudget};
use spillgate_llm::{ChatModel, Target};
use spillgate_offload::{FileLedger, Ledger, Offloader, Policy};
use spillgate_retrieval::audience;
use spillgate_store::{FileStore, Lifetime, Receipt, Space, SyncWhen, Upkeep};

use crate::args::{Common, LimitArgs};
use crate::failure::Failure;
use crate::layers::{client_file, config_file};
use crate::models;
use crate::settings::Settings;

/// Tokens of a page on the command line unless set: enough that an ordinary
/// page is within it by its bytes alone and no tokenizer has to be loaded.
pub(crate) const COMMAND_LINE_PAGE: u64 = 10_000;

/// Tokens of a page in the gateway unless set: some 10,000 bytes, which every
/// client passes on whole (deps.md).
pub(crate) const GATEWAY_PAGE: u64 = 2500;

/// The working parts of a command.
#[derive(Debug)]
pub(crate) struct App {
    common: Common,
    pub(crate) settings: Settings,
    pub(crate) store: Arc<FileStore>,
    pub(crate) ledger: Arc<FileLedger>,
    pub(crate) offloader: Offloader,
    upkeep: Upkeep,
}

impl App {
    /// The parts for looking into what is stored.
    pub(crate) fn for_looking(common: &Common) -> Result<Self, Failure> {
        let settings = Settings::load(common, &LimitArgs::default())?;
        Self::build(common, settings, Policy::default(), false)
    }

    /// The parts for offloading, by these arguments and the settings beneath
    /// them.
    pub(crate) fn for_offloading(common: &Common, limits: &LimitArgs) -> Result<Self, Failure> {
        let settings = Settings::load(common, limits)?;
        let policy = settings.policy(limits)?;
        Self::build(common, settings, policy, false)
    }

    /// The same for a process that serves: its clients wait for each result, so it
    /// may be brought to the disk afterwards, and room for it is made beside.
    pub(crate) fn for_gateway(common: &Common, limits: &LimitArgs) -> Result<Self, Failure> {
        let settings = Settings::load(common, limits)?;
        let policy = settings.policy(limits)?;
        Self::build(common, settings, policy, true)
    }

    fn build(
        common: &Common,
        settings: Settings,
        policy: Policy,
        serves: bool,
    ) -> Result<Self, Failure> {
        let sync = match serves {
            true => settings.sync,
            false => SyncWhen::Before,
        };
        let upkeep = settings.upkeep();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let base = std::path::absolute(&settings.store)?;
        let store = FileStore::new(&base, Lifetime::Durable, Arc::clone(&clock));
        let space = Space {
            evicts: serves,
            ..settings.space()
        };
        let store = Arc::new(store.synced(sync).within(space));
        store.check_format()?;
        if !settings.shared_store {
            store.check_base()?;
        }
        let ledger = Arc::new(FileLedger::new(base.join("ledger.ndjson")));
        let door = audience::command_line(&store_option(common));
        let offloader = Offloader::new(
            Arc::clone(&store) as _,
            policy,
            settings.tokenizer.counter(),
            door,
            clock,
            Arc::clone(&ledger) as Arc<dyn Ledger>,
        )
        .with_short_ids(settings.continuation.short_ids);
        Ok(Self {
            common: common.clone(),
            settings,
            store,
            ledger,
            offloader,
            upkeep,
        })
    }

    /// The budget of a page on the command line.
    pub(crate) fn page(&self, asked: Option<u64>) -> TokenBudget {
        let asked = asked.filter(|&tokens| tokens > 0);
        TokenBudget::new(
            asked
                .or(self.settings.page_tokens)
                .unwrap_or(COMMAND_LINE_PAGE),
        )
    }

    /// The budget of a page in the gateway.
    pub(crate) fn gateway_page(&self) -> TokenBudget {
        TokenBudget::new(self.settings.page_tokens.unwrap_or(GATEWAY_PAGE))
    }

    /// The model that these targets name, the first one first; none without a
    /// target.
    pub(crate) fn model(&self, targets: &[Target]) -> Result<Option<Arc<dyn ChatModel>>, Failure> {
        models::model(&self.settings, targets)
    }

    /// The files that the configuration is read from.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let ours = config_file(&self.common).ok().flatten();
        ours.into_iter().chain(self.client_file()).collect()
    }

    /// A client's list of servers that was named as the configuration.
    pub(crate) fn client_file(&self) -> Option<PathBuf> {
        client_file(&self.common)
    }

    /// The option that leads to the same store in another command.
    pub(crate) fn store_option(&self) -> String {
        store_option(&self.common)
    }

    /// Lets go what is over the quota, and every few minutes what is too old and what
    /// killed writers left. Never an error: what was asked is done.
    pub(crate) fn tidy(&self, stored: Option<&Receipt>) {
        let spared = stored.map(Receipt::handle);
        let kept = self.store.keep_up(&self.upkeep, spared, SystemClock.now());
        if let Err(error) = kept {
            tracing::warn!(%error, "the store could not be tidied");
        }
    }

    /// Removes what killed writers left. A gateway does so when it starts: whoever
    /// was killed is mostly started again soon.
    pub(crate) fn clear_leftovers(&self) {
        if let Err(error) = self.store.remove_leftovers(self.upkeep.idle) {
            tracing::warn!(%error, "leftovers could not be removed");
        }
    }
}

/// The options as they are typed in a shell.
fn store_option(common: &Common) -> String {
    let shared = if common.shared_store {
        " --shared-store"
    } else {
        ""
    };
    let Some(path) = &common.store else {
        return shared.to_owned();
    };
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    match text.chars().all(plain) {
        true => format!(" --store {text}{shared}"),
        false => format!(" --store '{}'{shared}", text.replace('\'', "'\\''")),
    }
}
