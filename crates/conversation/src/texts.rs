//! The texts that this crate itself writes to the model.

use spillgate_llm::ToolSpec;

use crate::slot::{Slot, SlotError};

/// Replaces a tool's reply that would not fit into the context (docs/spec/texts.md,
/// "Notices of an agent").
pub const DROPPED: &str = "(tool failed: context window budget exceeded)";

/// Replaces text of the model that was left out.
pub(crate) const WORDS_LEFT_OUT: &str = "(left out)";

/// Replaces the reply of a host that returned none.
pub(crate) const NO_REPLY: &str = "The tool gave no reply.";

/// Tells the model that its reply had neither a call nor an answer.
pub(crate) fn reminder(slot: &Slot, why: &str) -> String {
    let how = how_to_answer(slot);
    format!("{why} Call a tool, or answer. {how}")
}

/// Tells the model that no more tools can be called and, if the previous reply had no answer, why
/// it had none.
pub(crate) fn last_turn(slot: &Slot, why: Option<&str>) -> String {
    let why = why.map(|why| format!("{why} ")).unwrap_or_default();
    let how = how_to_answer(slot);
    format!(
        "{why}This is the last turn: no tool can be called any more. Answer now, from what you have seen. {how}"
    )
}

/// Returns the text that says why a reply has no answer.
pub(crate) fn what_was_wrong(error: &SlotError) -> &'static str {
    match error {
        SlotError::Empty => "Your answer is empty.",
        SlotError::Missing => "Your reply has no answer in its wrapper.",
        SlotError::Ambiguous => "Your reply has two different answers; give one.",
        SlotError::CutOff => "Your answer was cut off before its end; make it shorter.",
    }
}

/// Tells the model how to write the answer. If a model repeats this text, [`Slot::answer`] does not
/// take the words between the tags for an answer.
fn how_to_answer(slot: &Slot) -> String {
    format!(
        "The answer begins with {} and ends with {}.",
        slot.opening(),
        slot.closing()
    )
}

/// Tells the model that its reply had more calls than are allowed.
pub(crate) fn too_many(limit: u32) -> String {
    format!(
        "This call was not made: a reply may have {limit} calls. Call again if it is still needed."
    )
}

/// Tells the model that there is no such tool. The caller has already shortened the name and
/// reduced it to plain characters.
pub(crate) fn unknown_tool(name: &str, tools: &[ToolSpec]) -> String {
    let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    match known.is_empty() {
        true => format!("There is no tool '{name}'; there are none."),
        false => format!("There is no tool '{name}'; there are {}.", known.join(", ")),
    }
}

/// Tells the model that the arguments of a call cannot be read.
pub(crate) fn bad_arguments(why: &str) -> String {
    format!("The arguments are not a JSON object: {why}. Call again with one.")
}
