//! `spillgate diff`: prints how two stored outputs differ.

use std::time::{Duration, Instant};

use serde_json::json;
use similar::ChangeTag;
use spillgate_artifact::Handle;
use spillgate_clients::LineDiff;
use spillgate_offload::RetrieveError;

use crate::args::Diff;
use crate::failure::{Failure, Fault};
use crate::output::Output;
use crate::wiring::App;

/// Maximum bytes of an output that is compared, because the comparison holds both outputs in
/// memory.
const MOST_COMPARED: u64 = 64 << 20;

/// Time after which the comparison stops looking for the smallest difference, and returns one that
/// is correct but may be larger.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn diff(app: &App, diff: &Diff, out: &Output) -> Result<u8, Failure> {
    let handles = [app.handle(&diff.older)?, app.handle(&diff.newer)?];
    if handles[0] == handles[1] {
        out.note("both are the same output; `spillgate ls` lists the others");
    }
    let [older, newer] = [text(app, handles[0])?, text(app, handles[1])?];
    let deadline = Instant::now() + PATIENCE;
    let compared = LineDiff::new(&older, &newer, Some(deadline));
    let [from, to] = handles.map(|handle| handle.to_string());
    let text = compared.unified(&from, &to).to_string();
    let count = |sign| {
        let lines = compared.changes();
        lines.filter(|line| line.tag() == sign).count()
    };
    let added = count(ChangeTag::Insert);
    let removed = count(ChangeTag::Delete);
    match out.json {
        true => out.object(&json!({"added": added, "removed": removed, "diff": text}))?,
        false => out.text(&text)?,
    }
    Ok(u8::from(added + removed > 0))
}

/// Returns the readable text of an output.
fn text(app: &App, handle: Handle) -> Result<String, Failure> {
    let artifact = app.offloader.artifact(handle)?;
    let view = artifact.view().source();
    if view.len() > MOST_COMPARED {
        let what = format!(
            "{handle} has {} bytes; at most {MOST_COMPARED} are compared",
            view.len()
        );
        return Err(Failure::new("too_large", Fault::Caller, what)
            .hint("compare parts: `spillgate read HANDLE --bytes A..B` prints one"));
    }
    let bytes = view.bytes(0, u64::MAX).map_err(RetrieveError::from)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
