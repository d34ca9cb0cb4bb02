//! `spillgate pin`: protects an output from removal by quota and age.

use serde_json::json;
use spillgate_store::ArtifactStore;

use crate::args::Pin;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

pub(crate) fn pin(app: &App, pin: &Pin, out: &Output) -> Result<u8, Failure> {
    app.store.pin(pin.handle, !pin.off)?;
    if out.json {
        out.object(&json!({"handle": pin.handle, "pinned": !pin.off}))?;
    }
    Ok(0)
}
