//! Saves a fetched page to a file below the root.

use spillgate_offload::estimated_tokens;
use spillgate_text::clip;
use spillgate_web::{BodyKind, FetchError, FetchResponse, Fetcher};
use tokio::task::spawn_blocking;

use super::{Advice, read, type_shown, url_shown};
use crate::save::{Draft, SaveTarget, SavedSize};
use crate::tool_result::{Body, Reply, ToolError};

/// Maximum bytes that are written at a time.
const BLOCK: usize = 1 << 20;

/// Maximum characters of a path and of a title in the confirmation.
const SHOWN: usize = 200;

/// Saves a page and confirms it. Bytes are written as they arrive; only a page that becomes
/// Markdown is held in memory as a whole.
pub(super) async fn save(
    fetcher: &Fetcher,
    mut response: FetchResponse,
    target: SaveTarget,
    is_raw: bool,
    advice: Advice,
) -> Reply {
    let settings = fetcher.settings();
    let path = target.path();
    let failed = |error: FetchError| match error {
        FetchError::TooLarge { .. } => ToolError::new(format!(
            "{error} Nothing was saved; please use a smaller part or another source."
        )),
        error => advice.failed(&error),
    };
    response.limit(settings.most_file_bytes).map_err(failed)?;
    let beginning = response.next().await.map_err(failed)?;
    let mut block = beginning.unwrap_or_default();
    let kind = BodyKind::of(&response.content_type(), &block);
    let mut draft = blocking(move || Draft::create(target)).await?;
    let mut title = None;
    if kind == BodyKind::Html && !is_raw {
        while let Some(bytes) = response.next().await.map_err(failed)? {
            block.extend(bytes);
            if block.len() as u64 > settings.most_page_bytes {
                return Err(too_large(settings.most_page_bytes));
            }
        }
        let page = read(&response, block, kind, false).await?;
        title = page.title;
        draft = written(draft, page.text.into_bytes()).await?;
    } else {
        while let Some(bytes) = response.next().await.map_err(failed)? {
            block.extend(bytes);
            if block.len() >= BLOCK {
                draft = written(draft, std::mem::take(&mut block)).await?;
            }
        }
        draft = written(draft, block).await?;
    }
    let saved = blocking(move || draft.keep()).await?;
    let text = confirmation(&response, &path, kind, is_raw, saved, title.as_deref());
    Ok(Body::Text(text))
}

fn too_large(most: u64) -> ToolError {
    ToolError::new(format!(
        "The page's HTML is larger than {most} bytes, the most that becomes Markdown. \
         Nothing was saved. Use raw=true to save it as it is."
    ))
}

/// Writes a block to the draft. If the call is dropped, the draft is dropped, too, and its file is
/// removed.
async fn written(mut draft: Draft, block: Vec<u8>) -> Result<Draft, ToolError> {
    blocking(move || draft.write(&block).map(|()| draft)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let ended = spawn_blocking(work).await;
    ended.unwrap_or_else(|_| Err(ToolError::new("Saving broke down; this is our fault.")))
}

fn confirmation(
    response: &FetchResponse,
    path: &str,
    kind: BodyKind,
    is_raw: bool,
    saved: SavedSize,
    title: Option<&str>,
) -> String {
    let SavedSize { bytes, lines } = saved;
    let (form, size, advice) = match kind {
        BodyKind::Binary => (
            "as it came",
            format!("{bytes} bytes"),
            "It is no text: read_file and grep_content do not show it.",
        ),
        _ => (
            match kind == BodyKind::Html && !is_raw {
                true => "as Markdown",
                false => "as it came",
            },
            format!(
                "{bytes} bytes, {lines} lines, ~{} tokens",
                estimated_tokens(bytes)
            ),
            "Use grep_content to search it, or read_file with offset and limit to read portions of it.",
        ),
    };
    let title = title.map_or(String::new(), |title| {
        format!("Title: {}\n", clip(title, SHOWN))
    });
    format!(
        "Saved [{}, {}, {}] to '{}' {form}: {size}.\n{title}{advice}\n",
        url_shown(response),
        response.status(),
        type_shown(response),
        clip(path, SHOWN)
    )
}
