//! Settings in, working parts out.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use spillgate_artifact::{Clock, SystemClock, Timestamp, TokenBudget};
use spillgate_llm::{ChatModel, Target};
use spillgate_offload::{Door, FileLedger, Ledger, Offloader, Policy};
use spillgate_store::{FileStore, Lifetime, Receipt, Retention, SyncWhen, sweep};

use crate::args::{Common, LimitArgs};
use crate::failure::Failure;
use crate::layers::{Layers, client_file, config_file};
use crate::models;
use crate::settings::Settings;

/// Tokens of a page on the command line unless set: enough that an ordinary
/// page is within it by its bytes alone and no tokenizer has to be loaded.
pub(crate) const COMMAND_LINE_PAGE: u64 = 10_000;

/// Tokens of a page in the gateway unless set: some 10,000 bytes, which every
/// client passes on whole (deps.md).
pub(crate) const GATEWAY_PAGE: u64 = 2500;

/// A draft untouched for this long has no writer any more.
const LEFTOVER: Duration = Duration::from_secs(60);

/// The store is swept at most once in so long.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(300);

/// The working parts of a command.
#[derive(Debug)]
pub(crate) struct House {
    common: Common,
    limits: LimitArgs,
    pub(crate) settings: Settings,
    pub(crate) store: Arc<FileStore>,
    pub(crate) ledger: Arc<FileLedger>,
    pub(crate) offloader: Offloader,
}

impl House {
    /// The parts for looking into what is stored.
    pub(crate) fn for_looking(common: &Common) -> Result<Self, Failure> {
        let limits = LimitArgs::default();
        let settings = Layers::load(common, &limits)?.settings;
        Self::build(
            common,
            &limits,
            settings,
            Policy::default(),
            SyncWhen::Before,
        )
    }

    /// The parts for offloading, by these arguments and the settings beneath
    /// them.
    pub(crate) fn for_offloading(common: &Common, limits: &LimitArgs) -> Result<Self, Failure> {
        let settings = Layers::load(common, limits)?.settings;
        let policy = settings.policy(limits)?;
        Self::build(common, limits, settings, policy, SyncWhen::Before)
    }

    /// The same for the gateway, whose clients wait for each result: it may be
    /// brought to the disk afterwards.
    pub(crate) fn for_gateway(common: &Common, limits: &LimitArgs) -> Result<Self, Failure> {
        let settings = Layers::load(common, limits)?.settings;
        let (policy, sync) = (settings.policy(limits)?, settings.sync);
        Self::build(common, limits, settings, policy, sync)
    }

    fn build(
        common: &Common,
        limits: &LimitArgs,
        settings: Settings,
        policy: Policy,
        sync: SyncWhen,
    ) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let base = std::path::absolute(&settings.store)?;
        let store = FileStore::new(&base, Lifetime::Durable, Arc::clone(&clock));
        let store = Arc::new(store.synced(sync));
        let ledger = Arc::new(FileLedger::new(base.join("ledger.ndjson")));
        let door = Door::CommandLine {
            store_option: common
                .store
                .as_deref()
                .map(store_option)
                .unwrap_or_default(),
        };
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
            limits: limits.clone(),
            settings,
            store,
            ledger,
            offloader,
        })
    }

    /// The rules that results are decided by.
    pub(crate) fn policy(&self) -> Result<Policy, Failure> {
        self.settings.policy(&self.limits)
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
        self.common
            .store
            .as_deref()
            .map(store_option)
            .unwrap_or_default()
    }

    /// Lets go what is over age or quota and what killed writers left. Done at
    /// most every few minutes, but at once after an output that is a good part
    /// of the quota. Never an error: what was asked is done.
    pub(crate) fn tidy(&self, stored: Option<&Receipt>) {
        let (max_bytes, max_age) = (self.settings.quota(), self.settings.max_age());
        let now = SystemClock.now();
        let mark = self.store.base().join(".swept");
        let bytes = stored.map_or(0, |receipt| receipt.manifest().facts.raw_bytes);
        let is_large = max_bytes.is_some_and(|quota| bytes > quota / GOOD_PART);
        if !is_large && is_recent(&mark, now) || touch(&mark).is_err() {
            return;
        }
        let retention = Retention { max_bytes, max_age };
        let spared = stored.map(Receipt::handle);
        if let Err(error) = sweep(&*self.store, retention, spared, now) {
            tracing::warn!(%error, "the store could not be swept");
        }
        self.clear_leftovers();
    }

    /// Removes what killed writers left. A gateway does so when it starts: whoever
    /// was killed is mostly started again soon.
    pub(crate) fn clear_leftovers(&self) {
        if let Err(error) = self.store.remove_leftovers(LEFTOVER) {
            tracing::warn!(%error, "leftovers could not be removed");
        }
    }
}

/// An output of a hundredth of the quota is worth a sweep of its own.
const GOOD_PART: u64 = 100;

fn is_recent(mark: &Path, now: Timestamp) -> bool {
    let swept = std::fs::metadata(mark).and_then(|found| found.modified());
    swept.is_ok_and(|at| Timestamp::new(at).age_at(now) < SWEEP_EVERY)
}

fn touch(mark: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options
        .open(mark)?
        .set_modified(SystemClock.now().system_time())
}

/// The option as it is typed in a shell.
fn store_option(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    match text.chars().all(plain) {
        true => format!(" --store {text}"),
        false => format!(" --store '{}'", text.replace('\'', "'\\''")),
    }
}
