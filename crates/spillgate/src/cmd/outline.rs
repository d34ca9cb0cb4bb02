//! `spillgate outline`: prints the shape of a stored output.

use serde_json::json;
use spillgate_artifact::TokenBudget;

use crate::args::Outline;
use crate::failure::Failure;
use crate::output::Output;
use crate::wiring::App;

pub(crate) fn outline(app: &App, outline: &Outline, out: &Output) -> Result<u8, Failure> {
    let budget = TokenBudget::new(outline.max_tokens);
    let target = app.target(&outline.target)?;
    let lines = target.offloader.outline(target.handle, budget)?;
    if out.json {
        let facts = target.offloader.artifact(target.handle)?;
        let kind = facts.manifest().facts.stats.kind;
        out.object(&json!({"kind": kind, "text": lines.join("\n"), "lines": lines}))?;
        return Ok(0);
    }
    for line in &lines {
        out.text(&format!("{line}\n"))?;
    }
    if lines.is_empty() {
        out.note("no shape was recognized; try `spillgate search` or `spillgate grep`");
    }
    Ok(0)
}
