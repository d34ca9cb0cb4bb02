//! `spillgate prompt`: prints the text that explains a profile's messages in a system prompt.

use spillgate_offload::FUNNEL_PROMPT;

use crate::args::{Prompt, PromptSection};
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn prompt(prompt: &Prompt, out: &Output) -> Result<u8, Failure> {
    let text = match prompt.section {
        PromptSection::Funnel => FUNNEL_PROMPT,
    };
    match out.json {
        true => out.object(&serde_json::json!({"text": text}))?,
        false => out.text(text)?,
    }
    Ok(0)
}
