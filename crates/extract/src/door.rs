//! Answers a model's calls of `tool_output`. Answers and errors are returned as text below a fixed
//! heading ([`envelope`]).

use serde_json::{Value, json};
use spillgate_artifact::Handle;
use spillgate_offload::{Presentation, Profile, RetrieveError};
use spillgate_store::StoreError;

use crate::{Asked, Extractor, Mode, Watch, envelope};

/// Maximum length of a handle that an answer repeats, in characters.
const HANDLE: usize = 120;

/// The answer to a call whose `handle` is not a whole handle, but for example only its second half.
const NO_HANDLE: &str = "It was never stored here: handles have the form \
                         session-<uuid>/<uuid>, both parts, as the tool-result message has them.";

/// The description of `tool_output` for models.
pub const TOOL: &str = "Extract from a stored tool output what you describe.";

/// The JSON Schema of the arguments of `tool_output` (docs/spec/texts.md, "Extraction tool"). With
/// `has_search`, it lists the mode `search`, which is Spillgate's own addition.
#[must_use]
pub fn tool_schema(has_search: bool) -> Value {
    let modes = modes(has_search);
    let last = if has_search {
        "; search=ranks passages"
    } else {
        ""
    };
    let mode = format!(
        "Optional override. auto=module decides; full-chunked=LLM chunk+reduce; \
         read-grep=dynamic sub-agent with Read/Grep; \
         truncate=keeps top and bottom, truncates in the middle{last}."
    );
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["handle", "extract"],
        "properties": {
            "handle": {
                "type": "string",
                "minLength": 1,
                "description": "UUID handle of the stored tool output (provided in the \
                                tool-result message: tool_output(handle = \"<uuid>\", ...)).",
            },
            "extract": {
                "type": "string",
                "minLength": 1,
                "description": "Provide precise, detailed instructions about what you need \
                                from the tool output (be specific, include \
                                keys/fields/sections if known).",
            },
            "mode": {"type": "string", "enum": modes, "description": mode},
        },
    })
}

/// Returns the modes that the schema lists.
fn modes(has_search: bool) -> Vec<&'static str> {
    let modes = Mode::ALL.into_iter();
    let listed = modes.filter(|mode| has_search || *mode != Mode::Search);
    listed.map(Mode::name).collect()
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The answer in its envelope, as the model sees it.
    pub shown: Presentation,
    /// Whether the call failed. "Not found" is not a failure.
    pub is_error: bool,
}

impl Extractor {
    /// Returns the modes that the schema lists for the calling model, as text.
    fn listed_modes(&self) -> String {
        let policy = self.offloader().policy();
        let modes = modes(!policy.uses_only(&Profile::Handle));
        let (last, first) = modes.split_last().expect("invariant: there are modes");
        format!("{} and {last}", first.join(", "))
    }

    /// Answers a call of `tool_output`. A parameter that is missing or is not text is `None`.
    pub async fn tool_output(
        &self,
        handle: Option<&str>,
        extract: Option<&str>,
        mode: Option<&str>,
        watch: &dyn Watch,
    ) -> ToolOutput {
        let given = |text: Option<&str>| {
            text.map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let mode = given(mode).unwrap_or_else(|| Mode::Auto.name().to_owned());
        let spelled = mode.chars().take(HANDLE).collect::<String>();
        let shown = given(handle).map_or("<missing>".to_owned(), |handle| {
            crate::mask::inline(&handle, HANDLE)
        });
        let (Some(handle), Some(extract)) = (given(handle), given(extract)) else {
            let what = "Invalid tool_output parameters: handle and extract are required.";
            return self.failed(&shown, &spelled, what);
        };
        let mode: Mode = match mode.parse() {
            Ok(mode) => mode,
            Err(error) => {
                let what = format!(
                    "Invalid tool_output parameters: unknown mode '{}'; allowed are {}.",
                    crate::mask::inline(&error.0, HANDLE),
                    self.listed_modes()
                );
                return self.failed(&shown, &spelled, &what);
            }
        };
        let Ok(handle) = handle.parse::<Handle>() else {
            return self.absent(&shown, NO_HANDLE);
        };
        let asked = Asked {
            handle,
            extract,
            mode,
        };
        match self.extract(&asked, watch).await {
            Ok(extraction) => ToolOutput {
                shown: self.offloader().presented(extraction.text()),
                is_error: false,
            },
            Err(RetrieveError::Store(StoreError::Absent { why, .. })) => {
                self.absent(&shown, &why.to_string())
            }
            Err(error) => {
                tracing::warn!(%handle, %error, "an extraction failed");
                self.failed(&shown, mode.name(), &error.to_string())
            }
        }
    }

    fn failed(&self, handle: &str, strategy: &str, what: &str) -> ToolOutput {
        let strategy = crate::mask::inline(strategy, HANDLE);
        let text = envelope::failure("unknown", handle, &strategy, what);
        ToolOutput {
            shown: self.offloader().presented(text),
            is_error: true,
        }
    }

    fn absent(&self, handle: &str, why: &str) -> ToolOutput {
        let what = format!("No stored tool output found for handle {handle}. {why}");
        let text = envelope::success("unknown", handle, "auto", &what);
        ToolOutput {
            shown: self.offloader().presented(text),
            is_error: false,
        }
    }
}
