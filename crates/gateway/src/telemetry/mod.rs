//! Metrics of the gateway and its servers.

pub(crate) mod metrics;
pub(crate) mod server_metrics;
