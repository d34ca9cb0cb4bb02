//! Reads the chunks of an output, each with one request to a model.
//!
//! A few chunks are read at the same time. A chunk that turns out too long is split, and both
//! halves are read. A chunk that fails does not stop the others.

use std::collections::VecDeque;
use std::io;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::ask::AskError;
use crate::case::Asking;
use crate::chunks::Reading;
use crate::mask::inline;
use crate::outcome::Coverage;
use crate::plan::Chunk;
use crate::prompt::{self, NOTHING};
use crate::verify::ground;
use crate::watch::Watch;

/// Maximum number of failure reasons that are reported.
const REASONS: usize = 3;
/// Maximum length of each reason, in characters.
const REASON: usize = 300;

/// The answers of the chunks.
#[derive(Debug, Default)]
pub(crate) struct Mapped {
    /// The answers, in the order of their chunks in the document.
    pub answers: Vec<Answer>,
    /// Whether reading stopped early at a verified answer.
    pub stopped_early: bool,
    pub coverage: Coverage,
    /// The reasons why chunks failed; equal reasons are listed once.
    pub failures: Vec<AskError>,
}

/// The answer of one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The first byte of the part of the chunk that does not repeat the previous chunk. Answers are
    /// sorted by it.
    pub at: u64,
    pub text: String,
}

impl Answer {
    /// Returns whether the answer found something.
    pub(crate) fn found(&self) -> bool {
        found(&self.text)
    }
}

/// Returns whether an answer found something: it does not begin with the words that the prompts
/// prescribe for "nothing found". Punctuation that a model puts before these words is ignored.
pub(crate) fn found(answer: &str) -> bool {
    let bare = answer.trim_start_matches(|c: char| !c.is_alphanumeric());
    !bare
        .get(..NOTHING.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(NOTHING))
}

/// A chunk to read.
#[derive(Debug, Clone)]
struct Job {
    /// The chunk's index in the plan; both halves of a split chunk keep it.
    index: usize,
    chunk: Chunk,
}

/// The outcome of a job.
enum Done {
    Answer(Answer),
    Halves(Box<[Chunk; 2]>),
    Failed(AskError),
}

impl Asking {
    /// Reads the chunks of `reading`.
    pub(crate) async fn map(&self, reading: &Reading, watch: &dyn Watch) -> io::Result<Mapped> {
        let whole = self.case.artifact.view().bytes();
        let mut seen = Seen::default();
        let mut mapped = Mapped::default();
        let mut waiting: VecDeque<Job> = reading
            .order
            .iter()
            .map(|&index| Job {
                index,
                chunk: reading.plan.chunks[index].clone(),
            })
            .collect();
        let mut total = waiting.len() as u64;
        let left_out = (reading.plan.chunks.len() - waiting.len()) as u64;
        let parallel = usize::try_from(self.case.settings.parallel.max(1)).unwrap_or(1);
        let mut running = FuturesUnordered::new();
        let mut done = 0;
        watch.step("map", 0, total);
        loop {
            while running.len() < parallel
                && let Some(job) = waiting.pop_front()
            {
                running.push(async move {
                    let done = self.read_chunk(reading, &job, total).await;
                    (job, done)
                });
            }
            let Some((job, result)) = running.next().await else {
                break;
            };
            match result? {
                Done::Halves(halves) => {
                    total += 1;
                    for chunk in halves.into_iter().rev() {
                        waiting.push_front(Job { chunk, ..job });
                    }
                    watch.step("map", done, total);
                    continue;
                }
                Done::Answer(answer) => {
                    seen.add(job.chunk.bytes);
                    mapped.answers.push(answer);
                }
                Done::Failed(why) => mapped.fail(why),
            }
            done += 1;
            watch.step("map", done, total);
            if self.is_enough(&mapped).await? {
                mapped.stopped_early = !(waiting.is_empty() && running.is_empty());
                break;
            }
        }
        mapped.answers.sort_by_key(|answer| answer.at);
        mapped.coverage = Coverage {
            bytes_examined: seen.bytes(),
            bytes_total: whole,
            chunks: total + left_out,
            read_chunks: mapped.answers.len() as u64,
            ..mapped.coverage
        };
        Ok(mapped)
    }

    async fn read_chunk(&self, reading: &Reading, job: &Job, total: u64) -> io::Result<Done> {
        let (plan, chunk) = (reading.plan.clone(), job.chunk.clone());
        let most = reading.chunk_tokens;
        let rendered = self.case.look(move |case| {
            let rendered = plan.render(&case.artifact, &chunk)?;
            Ok::<_, io::Error>(match case.counter.exceeds(&rendered, most) {
                true => match plan.split(&case.artifact, &chunk)? {
                    Some(halves) => Err(halves),
                    None => Ok(rendered),
                },
                false => Ok(rendered),
            })
        });
        let rendered = match rendered.await? {
            Ok(rendered) => rendered,
            Err(halves) => return Ok(Done::Halves(Box::new(halves))),
        };
        let info = reading.info(job.index, &job.chunk);
        let name = format!("map {}/{total}", job.index + 1);
        let prompt = |slot: &_| {
            (
                prompt::map(&self.case, &info, slot),
                prompt::chunk(&self.case, &rendered, slot),
            )
        };
        match self
            .ask(&name, Some(job.chunk.lines), &rendered, &prompt)
            .await
        {
            Ok(text) => Ok(Done::Answer(Answer {
                at: job.chunk.bytes.0,
                text,
            })),
            Err(AskError::TooLong(error)) if reading.may_split() => {
                let (plan, chunk) = (reading.plan.clone(), job.chunk.clone());
                let halves = self
                    .case
                    .look(move |case| plan.split(&case.artifact, &chunk));
                Ok(match halves.await? {
                    Some(halves) => Done::Halves(Box::new(halves)),
                    None => Done::Failed(AskError::TooLong(error)),
                })
            }
            Err(error) => Ok(Done::Failed(error)),
        }
    }

    /// Returns whether reading can stop at the newest answer: it found something, and every value
    /// that it quotes is in the text.
    async fn is_enough(&self, mapped: &Mapped) -> io::Result<bool> {
        let newest = mapped.answers.last().filter(|answer| answer.found());
        let Some(answer) = newest.filter(|_| self.may_stop_early()).cloned() else {
            return Ok(false);
        };
        let grounded = self
            .case
            .look(move |case| ground(&case.artifact, &answer.text));
        let grounded = grounded.await?;
        let quotes = |one: &crate::Citation| one.matched.is_some();
        Ok(grounded.unverified.is_empty() && grounded.citations.iter().any(quotes))
    }
}

impl Mapped {
    fn fail(&mut self, why: AskError) {
        self.coverage.failed_chunks += 1;
        if !self.failures.iter().any(|one| one.alike() == why.alike()) {
            self.failures.push(why);
        }
    }

    /// Returns the first few reasons why chunks failed, as the providers worded them.
    pub(crate) fn reasons(&self) -> String {
        let told = self.failures.iter().take(REASONS);
        let told: Vec<String> = told.map(|why| inline(&why.to_string(), REASON)).collect();
        match self.failures.len().saturating_sub(REASONS) {
            0 => told.join("; "),
            more => format!("{}; and {more} more reasons", told.join("; ")),
        }
    }
}

/// The ranges of the view that were read. Chunks overlap, but each byte is counted once.
#[derive(Debug, Default)]
pub(crate) struct Seen(Vec<(u64, u64)>);

impl Seen {
    pub(crate) fn add(&mut self, range: (u64, u64)) {
        self.0.push(range);
    }

    pub(crate) fn bytes(mut self) -> u64 {
        self.0.sort_unstable();
        let (mut sum, mut end) = (0, 0);
        for (from, to) in self.0 {
            sum += to.saturating_sub(from.max(end));
            end = end.max(to);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_bytes_count_once() {
        let mut seen = Seen::default();
        for range in [(90, 200), (0, 100), (150, 160), (300, 301)] {
            seen.add(range);
        }
        assert_eq!(seen.bytes(), 201);
    }

    #[test]
    fn nothing_is_said_in_many_ways() {
        for (answer, is_found) in [
            ("NO RELEVANT DATA FOUND\nit is about cats", false),
            ("**No relevant data found**", false),
            ("> no relevant data found.", false),
            ("the text says NO RELEVANT DATA FOUND", true),
            ("NO RELEVANT", true),
            ("", true),
            ("é", true),
        ] {
            assert_eq!(found(answer), is_found, "{answer}");
        }
    }
}
