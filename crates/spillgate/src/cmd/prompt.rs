//! `spillgate prompt`: prints the text that explains a profile's messages in a system prompt.

use spillgate_offload::FUNNEL_PROMPT;

use crate::args::{Prompt, PromptSection};
use crate::failure::Failure;
use crate::output::Output;

/// The section for agents whose shell has the command line.
const CLI_PROMPT: &str = "\
Large outputs of tools are stored whole. A message that begins with `[spillgate]` stands in place of \
such an output: it names a handle and shows the shape of the output. The rest is not lost, so do not \
run the command again to see it. Read what you need with one of these commands:

- `spillgate grep HANDLE REGEX`: the lines that match
- `spillgate query HANDLE JQ_FILTER`: values of JSON, of lines of JSON, of tables
- `spillgate search HANDLE WORDS`: the passages about something
- `spillgate read HANDLE --start LINE --lines N`: these lines
- `spillgate outline HANDLE`: the shape of the output

If the output of a command may be large and nothing stores it by itself, write `spillgate run --` before the command.
";

pub(crate) fn prompt(prompt: &Prompt, out: &Output) -> Result<u8, Failure> {
    let text = match prompt.section {
        PromptSection::Funnel => FUNNEL_PROMPT,
        PromptSection::Cli => CLI_PROMPT,
    };
    match out.json {
        true => out.object(&serde_json::json!({"text": text}))?,
        false => out.text(text)?,
    }
    Ok(0)
}
