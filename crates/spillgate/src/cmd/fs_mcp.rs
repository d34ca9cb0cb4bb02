//! `spillgate fs-mcp`: an MCP server that reads and greps below a directory. The next release will
//! not contain this command.

use spillgate_artifact::TokenBudget;
use spillgate_files::Root;
use spillgate_tool_server::serve_files;

use crate::args::{Common, FsMcp, LimitArgs};
use crate::failure::{Failure, Fault};
use crate::logs::log_to_stderr;
use crate::settings::Settings;
use crate::wiring::GATEWAY_PAGE;

pub(crate) fn fs_mcp(common: &Common, fs_mcp: &FsMcp) -> Result<u8, Failure> {
    log_to_stderr("warn");
    tracing::warn!(
        "`fs-mcp` is removed in the next release: use `spillgate tools --root DIR --only read_file,grep_content`"
    );
    let settings = Settings::load(common, &LimitArgs::default())?;
    let asked = fs_mcp.max_tokens.filter(|&tokens| tokens > 0);
    let budget = asked.or(settings.page_tokens).unwrap_or(GATEWAY_PAGE);
    let root = Root::open(&fs_mcp.root).map_err(|error| {
        let message = format!("{}: {error}", fs_mcp.root.display());
        Failure::new("root", Fault::Caller, message).hint("name a directory with --root DIR")
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve_files(
        root,
        TokenBudget::new(budget),
        settings.tokenizer.counter(),
        settings.lookup_timeout(),
    ));
    // A call whose client has disconnected must not keep the process alive.
    runtime.shutdown_background();
    served.map_err(|error| Failure::new("stdio", Fault::Us, error.to_string()))?;
    Ok(0)
}
