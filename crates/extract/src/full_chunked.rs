//! The strategy in which a model reads every chunk of the output.

use crate::bound::bounded;
use crate::case::Asking;
use crate::chunks::Reading;
use crate::drafted::{Drafted, StrategyError};
use crate::map::{Answer, Mapped};
use crate::mask::inline;
use crate::prompt::NOTHING;
use crate::reduce::{HEADING, outputs};
use crate::watch::Watch;

/// If no chunk has an answer, the result repeats how the model described the chunks. This is the
/// maximum number of descriptions.
const REPEATED: usize = 5;
/// Maximum length of each description, in characters.
const DESCRIBED: usize = 400;

impl Asking {
    /// Reads every chunk with the model and combines the answers.
    pub(crate) async fn full_chunked(&self, watch: &dyn Watch) -> Result<Drafted, StrategyError> {
        let view = self.case.artifact.view();
        if view.bytes() == 0 {
            return Ok(Drafted::empty());
        }
        let room = self.room();
        if room == 0 {
            return Err(StrategyError::NoRoom {
                window: self.model.limits().window,
            });
        }
        let asking = self.clone();
        let reading = self.case.look(move |_| asking.reading(room)).await?;
        let mapped = self.map(&reading, watch).await?;
        let (found, nothing): (Vec<Answer>, Vec<Answer>) =
            mapped.answers.iter().cloned().partition(Answer::found);
        let mut notes = notes(&reading, &mapped);
        let (text, is_found) = match &found[..] {
            [] if nothing.is_empty() => {
                return Err(StrategyError::Chunks(mapped.reasons()));
            }
            [] => (not_found(&nothing), false),
            [only] => (only.text.clone(), true),
            several => match self.reduce(found.clone(), watch).await {
                Ok(text) => {
                    let is_found = crate::map::found(&text);
                    (text, is_found)
                }
                Err(error) => {
                    notes.push(format!(
                        "the answers of the chunks could not be put together ({error}); each stands under its heading"
                    ));
                    (outputs(&self.shares(several)), true)
                }
            },
        };
        Ok(Drafted {
            text,
            is_found,
            // An answer is partial if chunks failed. It is also partial if chunks were not read,
            // unless reading stopped early at a complete answer.
            is_partial: mapped.coverage.failed_chunks > 0
                || !mapped.coverage.is_whole() && !mapped.stopped_early,
            coverage: mapped.coverage,
            notes,
        })
    }
}

impl Asking {
    /// Shortens answers that are shown below each other, so that each gets an equal share of the
    /// space.
    fn shares(&self, answers: &[Answer]) -> Vec<Answer> {
        let share = self.case.shown_tokens() / answers.len().max(1) as u64;
        let share = share.saturating_sub(HEADING);
        let shared = answers.iter().map(|answer| Answer {
            at: answer.at,
            text: bounded(answer.text.clone(), share, u64::MAX, &*self.case.counter),
        });
        shared.collect()
    }
}

/// Returns notes about which chunks were read and which failed.
fn notes(reading: &Reading, mapped: &Mapped) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(asked) = reading.asked_tokens {
        notes.push(format!(
            "chunks of {asked} tokens would be too many; they have up to {}",
            reading.chunk_tokens
        ));
    }
    let left_out = reading.plan.chunks.len() - reading.order.len();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} chunks were left out, the least promising ones; max_chunks_hard allows {}",
            reading.order.len()
        ));
    }
    let failed = mapped.coverage.failed_chunks;
    if failed > 0 {
        notes.push(format!(
            "{failed} of {} chunks could not be read: {}",
            mapped.coverage.chunks,
            mapped.reasons()
        ));
    }
    if mapped.stopped_early {
        notes.push("reading ended at the first verified answer".to_owned());
    }
    notes
}

/// Says that nothing was found, and what the first chunks contain instead.
fn not_found(nothing: &[Answer]) -> String {
    let said = nothing.iter().filter_map(|answer| {
        let rest: Vec<&str> = answer.text.lines().skip(1).map(str::trim).collect();
        let rest = rest.join(" ");
        (!rest.trim().is_empty()).then(|| format!("- {}", inline(rest.trim(), DESCRIBED)))
    });
    let said: Vec<String> = said.take(REPEATED).collect();
    match said.is_empty() {
        true => NOTHING.to_owned(),
        false => format!("{NOTHING}\n{}", said.join("\n")),
    }
}
