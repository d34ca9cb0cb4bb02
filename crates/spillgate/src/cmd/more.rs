//! `spillgate continue`: prints the next characters of an output.

use serde_json::json;
use spillgate_offload::ContinuationError;

use crate::args::Continue;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::wiring::App;

pub(crate) fn more(app: &App, more: &Continue, out: &Output) -> Result<u8, Failure> {
    let offset = more.offset.as_deref();
    match app.offloader.continuation(&more.id, offset) {
        Ok(shown) if out.json => out.object(&json!({"text": shown.text()}))?,
        Ok(shown) => out.text(shown.text())?,
        Err(error) if out.json => return Err(error.into()),
        // The printed text is byte for byte the error that the continuation tool returns
        // (docs/spec/texts.md, "Continuation tool").
        Err(error) => {
            out.text(&error.to_json())?;
            return Ok(1);
        }
    }
    Ok(0)
}

impl From<ContinuationError> for Failure {
    fn from(error: ContinuationError) -> Self {
        let caller = |kind, error: &ContinuationError, hint: &str| {
            Self::new(kind, Fault::Caller, error.to_string()).hint(hint)
        };
        match error {
            ContinuationError::Retrieve(error) => error.into(),
            ContinuationError::PastEnd => caller(
                "past_end",
                &error,
                "the marker says how many characters there are",
            ),
            ContinuationError::BadOffset => {
                caller("usage", &error, "count characters from 0").code(2)
            }
            _ => caller(
                "not_found",
                &error,
                "the marker names the id; `spillgate ls` lists what is stored",
            ),
        }
    }
}
