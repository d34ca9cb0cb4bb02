//! `spillgate rm`: removes stored outputs.

use serde_json::json;
use spillgate_artifact::{Clock, SystemClock};
use spillgate_store::{ArtifactStore, Gone};

use crate::args::Rm;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

pub(crate) fn rm(app: &App, rm: &Rm, out: &Output) -> Result<u8, Failure> {
    for typed in &rm.handles {
        let handle = app.handle(typed)?;
        app.store.remove(handle, Gone::Removed, SystemClock.now())?;
        if out.json {
            out.object(&json!({"removed": handle}))?;
        }
    }
    Ok(0)
}
