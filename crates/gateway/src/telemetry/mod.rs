//! What the gateway counts and traces.

pub(crate) mod metrics;
pub(crate) mod server_metrics;
