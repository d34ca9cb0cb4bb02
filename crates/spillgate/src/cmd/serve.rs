//! `spillgate serve`: the HTTP API for programs, and the MCP endpoint beside it.

use super::mcp::{self, For};
use crate::args::Common;
use crate::failure::Failure;
use crate::server_args::{Listen, Mcp, Serve};

pub(crate) fn serve(common: &Common, serve: &Serve) -> Result<u8, Failure> {
    let serve = serve.clone();
    // One server has the routes of both commands, so it takes the arguments of the other one.
    let mcp = Mcp {
        limits: serve.limits,
        http: Some(serve.listen.unwrap_or(Listen::AsConfigured)),
        allow_host: serve.allow_host,
        allow_origin: serve.allow_origin,
        token_file: serve.token_file,
        insecure_no_auth: serve.insecure_no_auth,
        servers: serve.servers,
        ..Mcp::default()
    };
    mcp::serve(common, &mcp, For::Programs)
}
