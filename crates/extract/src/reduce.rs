//! Combines the answers of all chunks into one.
//!
//! Answers that do not fit one prompt are combined in rounds. Each round leaves fewer answers,
//! until one is left.

use crate::ask::AskError;
use crate::case::Asking;
use crate::map::Answer;
use crate::prompt;
use crate::watch::Watch;

/// Why there is no combined answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ReduceError {
    /// A model gave no answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// One prompt has no room for two answers.
    #[error("the answers from two chunks do not fit the model's window")]
    NoRoom,
}

impl Asking {
    /// Combines `answers`, which are in the order of the document.
    pub(crate) async fn reduce(
        &self,
        mut answers: Vec<Answer>,
        watch: &dyn Watch,
    ) -> Result<String, ReduceError> {
        let mut room = self.reduce_room();
        let mut round = 1;
        'rounds: while answers.len() > 1 {
            let batches = self.batches(&answers, room);
            if batches.len() == answers.len() {
                return Err(ReduceError::NoRoom);
            }
            let total = batches.len() as u64;
            watch.step("reduce", 0, total);
            let mut reduced = Vec::with_capacity(batches.len());
            for (done, batch) in batches.iter().enumerate() {
                let name = format!("reduce {round}.{}/{total}", done + 1);
                let text = match batch {
                    [only] => Ok(only.text.clone()),
                    batch => self.synthesize(&name, &outputs(batch)).await,
                };
                let text = match text {
                    Err(AskError::TooLong(_)) if room > LEAST => {
                        // The provider counts tokens differently from us, and only its count
                        // decides, so try again with smaller batches.
                        room /= 2;
                        continue 'rounds;
                    }
                    text => text?,
                };
                reduced.push(Answer {
                    at: batch[0].at,
                    text,
                });
                watch.step("reduce", done as u64 + 1, total);
            }
            answers = reduced;
            round += 1;
        }
        Ok(answers.pop().map(|answer| answer.text).unwrap_or_default())
    }

    async fn synthesize(&self, name: &str, outputs: &str) -> Result<String, AskError> {
        let prompt = |slot: &_| {
            (
                prompt::reduce(&self.case, outputs, slot),
                prompt::SYNTHESIZE.to_owned(),
            )
        };
        self.ask(name, None, outputs, &prompt).await
    }

    /// Returns how many tokens of answers fit into one prompt.
    fn reduce_room(&self) -> u64 {
        let limits = self.model.limits();
        let slot = self.case.slot("");
        let prompt = self
            .case
            .counter
            .count(&prompt::reduce(&self.case, "", &slot));
        // The same margin as for chunks, because the model's tokenizer differs from ours.
        let taken = prompt + self.answer_tokens() + limits.window / 20;
        limits.window.saturating_sub(taken)
    }

    /// Groups neighbouring answers into batches, each with as many answers as fit.
    fn batches<'a>(&self, answers: &'a [Answer], room: u64) -> Vec<&'a [Answer]> {
        let (mut batches, mut start, mut tokens) = (Vec::new(), 0, 0);
        for (i, answer) in answers.iter().enumerate() {
            let cost = self.case.counter.count(&answer.text) + HEADING;
            if i > start && tokens + cost > room {
                batches.push(&answers[start..i]);
                (start, tokens) = (i, 0);
            }
            tokens += cost;
        }
        batches.push(&answers[start..]);
        batches
    }
}

/// Minimum size of a batch, in tokens of answers. Smaller batches are not tried.
const LEAST: u64 = 128;
/// Size of the heading above an answer, in tokens.
pub(crate) const HEADING: u64 = 8;

/// Formats answers, each under a heading.
pub(crate) fn outputs(answers: &[Answer]) -> String {
    let parts: Vec<String> = answers
        .iter()
        .enumerate()
        .map(|(i, answer)| format!("# Chunk {}\n{}", i + 1, answer.text))
        .collect();
    parts.join("\n\n")
}
