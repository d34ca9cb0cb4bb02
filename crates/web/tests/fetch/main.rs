//! Tests that pages are fetched only from the public web, and only within the limits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod limits;
mod private;
mod robots;
mod server;

use std::time::Duration;

use spillgate_web::{FetchError, FetchSettings, Fetcher};

use server::Server;

/// Returns a fetcher that may reach `server`.
pub(crate) fn fetcher(server: &Server) -> Fetcher {
    Fetcher::new(settings(server))
}

pub(crate) fn settings(server: &Server) -> FetchSettings {
    FetchSettings {
        allowed: vec![server.address.to_string()],
        timeout: Duration::from_secs(20),
        ..FetchSettings::default()
    }
}

/// Fetches the whole body at a path, within a limit.
pub(crate) async fn whole(
    fetcher: &Fetcher,
    server: &Server,
    path: &str,
    limit: u64,
) -> Result<Vec<u8>, FetchError> {
    let mut opened = fetcher.open(&server.url(path), None).await?;
    opened.limit(limit)?;
    opened.whole().await
}
