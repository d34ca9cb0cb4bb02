//! Reloads the configuration when its files change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use spillgate_gateway::Hub;
use spillgate_offload::FileLedger;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::load;
use crate::args::Common;
use crate::server_args::Mcp;
use crate::wiring::App;

/// How often the files are checked. File-system notifications would be faster, but not every file
/// system supports them, and they easily miss an editor that replaces a file.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Modification time and length of a file; `None` if it does not exist.
type Mark = Option<(SystemTime, u64)>;

/// Waits for changes of files.
pub(super) struct Changes {
    files: Vec<PathBuf>,
    known: Vec<Mark>,
}

impl Changes {
    /// Returns what waits for changes after now.
    pub(super) fn of(files: Vec<PathBuf>) -> Self {
        let known = marks(&files);
        Self { files, known }
    }

    /// Returns once a file differs from the last look at it.
    pub(super) async fn next(&mut self) {
        loop {
            sleep(LOOK_EVERY).await;
            let now = marks(&self.files);
            if now != self.known {
                self.known = now;
                return;
            }
        }
    }
}

/// Applies the configuration whenever one of its files changes, also by `then`. An invalid configuration is logged,
/// and the last valid one stays in use.
pub(super) async fn watch(
    hub: Arc<Hub>,
    files: Vec<PathBuf>,
    (common, mcp, ledger): (Common, Mcp, Arc<FileLedger>),
    then: impl Fn(App) -> BoxFuture<'static, ()>,
) {
    let mut changes = Changes::of(files);
    loop {
        changes.next().await;
        let (common, asked, ledger) = (common.clone(), mcp.clone(), Arc::clone(&ledger));
        match spawn_blocking(move || load(&common, &asked, &ledger)).await {
            Ok(Ok((app, gateway))) => {
                hub.reload(gateway).await;
                then(app).await;
                let but = if mcp.http.is_some() {
                    ", except for `[http]` and `tenants.enabled`, which need a restart"
                } else {
                    ""
                };
                tracing::warn!("the configuration has changed; the new values are now used{but}");
            }
            Ok(Err(failure)) => {
                let what = failure.text();
                tracing::warn!(
                    what,
                    "the configuration file has changed but contains errors: the old configuration is still used"
                );
            }
            Err(error) => tracing::error!(%error, "the configuration could not be read"),
        }
    }
}

fn marks(files: &[PathBuf]) -> Vec<Mark> {
    let mark = |file: &PathBuf| {
        let found = std::fs::metadata(file).ok()?;
        Some((found.modified().ok()?, found.len()))
    };
    files.iter().map(mark).collect()
}
