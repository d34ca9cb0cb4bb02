//! stub
use spillgate_artifact::TokenBudget;
use spillgate_lookup::Artifact;
use spillgate_measure::TokenCounter;
use std::io;
pub(crate) struct Truncated {
    pub text: String,
    pub bytes_examined: u64,
}
pub(crate) fn truncation(
    a: &Artifact,
    _b: TokenBudget,
    _r: &str,
    _c: &dyn TokenCounter,
) -> io::Result<Truncated> {
    Ok(Truncated {
        text: String::from_utf8_lossy(&a.view().source().bytes(0, 1000)?).into_owned(),
        bytes_examined: a.view().bytes(),
    })
}
