//! Which model is meant by its name?

use std::sync::Arc;

use spillgate_llm::{ChatModel, Target};

use crate::failure::{Failure, Fault};
use crate::settings::Settings;

/// The model that `targets` name, the first one first.
pub(crate) fn model(
    _settings: &Settings,
    targets: &[Target],
) -> Result<Option<Arc<dyn ChatModel>>, Failure> {
    match targets {
        [] => Ok(None),
        [first, ..] => {
            let message = format!("there is no provider `{}`", first.provider);
            Err(Failure::new("model", Fault::Caller, message))
        }
    }
}
