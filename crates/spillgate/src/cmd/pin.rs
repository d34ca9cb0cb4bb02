//! `spillgate pin`: protects a stored output from being removed because of the quota or its age.

use serde_json::json;

use crate::args::Pin;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

pub(crate) fn pin(app: &App, pin: &Pin, out: &Output) -> Result<u8, Failure> {
    let handle = app.handle(&pin.handle)?;
    app.store.pin(handle, !pin.off)?;
    if out.json {
        out.object(&json!({"handle": handle, "pinned": !pin.off}))?;
    }
    Ok(0)
}
