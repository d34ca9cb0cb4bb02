//! The texts that the session itself writes to the model (docs/spec/texts.md, "Notices of an
//! agent").

use spillgate_conversation::Slot;

use crate::internal::FINAL_REPORT;
use crate::settings::Format;

/// Replaces a result that did not fit and of which nothing could be shown.
pub(crate) use spillgate_conversation::DROPPED;

/// Replaces the result of a call that was not made because an earlier result overflowed the window.
pub(crate) const NOT_MADE: &str = "(tool failed: context window budget exceeded; \
     previous tool overflowed. Session will conclude after this turn.)";

/// Replaces an empty result, because providers reject empty texts.
pub(crate) const EMPTY: &str = " ";

/// Replaces the result of a call that was not finished when the session ended.
pub(crate) const UNFINISHED: &str = "(not finished: the session ended)";

/// Says that a reply contained more calls, including those in batches, than are allowed.
pub(crate) fn too_many(limit: u32) -> String {
    format!(
        "This call was not made: a reply may have {limit} calls, those in batches among them. \
         Call again if it is still needed."
    )
}

/// The session's own instructions, which follow the text of the prompt file.
pub(crate) fn instructions(slot: &Slot, format: &Format, has_batch: bool) -> String {
    let mut lines = vec![
        "## How to finish".to_owned(),
        format!(
            "When the task is done, call `{FINAL_REPORT}`, or write the report as {}, between {} and {}. \
             Nothing outside counts.",
            format.in_words(),
            slot.opening(),
            slot.closing(),
        ),
    ];
    if has_batch {
        lines.push(
            "Calls that do not need each other's results go together, in one reply or one `agent__batch`."
                .to_owned(),
        );
    }
    lines.join("\n")
}

/// Says that a reply contained neither a call nor a report.
pub(crate) fn reminder(slot: &Slot, why: &str) -> String {
    format!(
        "{why} Call a tool, or finish: `{FINAL_REPORT}`, or the report between {} and {}.",
        slot.opening(),
        slot.closing()
    )
}

/// Says that this is the final turn, in which the model can only give its report.
pub(crate) fn final_turn(slot: &Slot, why: Option<&str>) -> String {
    let why = why.map(|why| format!("{why} ")).unwrap_or_default();
    format!(
        "{why}This is the final turn: no other tool can be called any more. Finish now, from what you have seen: \
         `{FINAL_REPORT}`, or the report between {} and {}.",
        slot.opening(),
        slot.closing()
    )
}

/// Says that the reply in the final turn contained calls instead of the report.
pub(crate) fn called_at_the_end(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    let more = if names.len() > SHOWN { ", …" } else { "" };
    format!("Your reply called {shown}{more}, but the final turn takes nothing but the report.")
}

/// Says that an identical call was just made.
pub(crate) fn duplicate(tool: &str, reply: &str) -> String {
    const SHOWN: usize = 500;
    let shown: String = reply.chars().take(SHOWN).collect();
    format!(
        "Duplicate call: you just called {tool} with the same arguments and it returned: {shown}\n\
         If the operation isn't working as expected, try a different approach."
    )
}

#[cfg(test)]
mod tests {
    use spillgate_conversation::{Nonce, SlotError};
    use spillgate_llm::Stop;

    use super::*;

    #[test]
    fn a_model_that_repeats_what_it_was_told_has_not_reported() {
        let slot = Slot::new(Nonce::of([1; 16]));
        let told = [
            instructions(&slot, &Format::Markdown, true),
            reminder(&slot, "Why."),
            final_turn(&slot, None),
        ];
        for told in told {
            let answer = slot.answer(&told, &Stop::End);
            assert_eq!(answer, Err(SlotError::Empty), "{told}");
        }
    }
}
