//! stub
use spillgate_lookup::{Artifact, LookupError};
use spillgate_measure::TokenCounter;
pub(crate) struct Nearest;
impl Nearest {
    pub(crate) fn told(&self) -> String {
        String::new()
    }
}
pub(crate) fn nearest(
    _: &Artifact,
    _: &str,
    _: &dyn TokenCounter,
) -> Result<Option<Nearest>, LookupError> {
    Ok(None)
}
