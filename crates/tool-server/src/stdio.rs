//! Runs an MCP server on standard input and output.

use rmcp::transport::io::stdio;
use rmcp::{RoleServer, Service, ServiceExt};

/// The server could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    /// The session could not be established.
    #[error("the MCP session could not begin: {0}")]
    Begin(String),
    /// The session broke off.
    #[error("the MCP session was interrupted: {0}")]
    Broken(String),
}

/// Serves until the client disconnects.
pub(crate) async fn serve(server: impl Service<RoleServer>) -> Result<(), ToolsError> {
    let service = match server.serve(stdio()).await {
        Ok(service) => service,
        // A client that disconnects without a request is not an error.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ToolsError::Begin(error.to_string())),
    };
    let ended = service.waiting().await;
    ended.map_err(|error| ToolsError::Broken(error.to_string()))?;
    Ok(())
}
