//! Runs an MCP server on standard input and output.

use rmcp::transport::io::stdio;
use rmcp::{RoleServer, Service, ServiceExt};

/// A server could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    /// The client and the server did not come to terms.
    #[error("the MCP session could not begin: {0}")]
    Begin(String),
    /// The server broke down.
    #[error("the MCP session broke off: {0}")]
    Broken(String),
}

/// Serves until the client goes.
pub(crate) async fn serve(server: impl Service<RoleServer>) -> Result<(), ToolsError> {
    let service = match server.serve(stdio()).await {
        Ok(service) => service,
        // A client that asks for nothing has nothing to complain of.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ToolsError::Begin(error.to_string())),
    };
    let ended = service.waiting().await;
    ended.map_err(|error| ToolsError::Broken(error.to_string()))?;
    Ok(())
}
