//! Decides the size of chunks, which of them are read, and in which order.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use spillgate_artifact::LineRange;
use spillgate_conversation::{Nonce, Slot};

use crate::case::Asking;
use crate::plan::{Chunk, Plan, Want, plan};
use crate::prompt::{self, ChunkInfo};

/// Minimum size of a chunk, in tokens. A smaller one is not worth a request.
const LEAST: u64 = 128;

/// One twentieth of the model's window (1 / `MARGIN`) stays free, because the model's tokenizer
/// differs from the one that counts here. A chunk that exceeds the window in spite of this is
/// split.
const MARGIN: u64 = 20;

/// Minimum number of splits that are allowed when a provider rejects chunks as too long.
const LEAST_SPLITS: u64 = 16;

/// Words that ask for everything. Reading never stops early for a question that contains one of
/// them.
const EXHAUSTIVE: [&str; 16] = [
    "all",
    "every",
    "each",
    "any",
    "list",
    "count",
    "how many",
    "number of",
    "total",
    "sum",
    "summarize",
    "summarise",
    "summary",
    "compare",
    "most",
    "least",
];

/// The chunks to read.
#[derive(Debug)]
pub(crate) struct Reading {
    pub plan: Plan,
    /// Indices of the chunks in the plan, in reading order.
    pub order: Vec<usize>,
    /// Maximum size of a rendered chunk, in tokens.
    pub chunk_tokens: u64,
    /// The configured maximum size of a chunk, in tokens. Set only if larger chunks are read,
    /// because there would be too many chunks of the configured size.
    pub asked_tokens: Option<u64>,
    /// Number of splits that are left for chunks that a provider rejects as too long.
    splits: AtomicU64,
}

impl Asking {
    /// Returns the maximum size of a chunk, in tokens, that fits the window together with the
    /// actual prompt and the answer; 0 if there is no room.
    pub(crate) fn room(&self) -> u64 {
        let limits = self.model.limits();
        let counter = &self.case.counter;
        let widest = ChunkInfo {
            index: 999,
            total: 999,
            overlap_percent: self.case.settings.overlap_percent,
            lines: LineRange {
                first: self.case.artifact.view().lines(),
                last: self.case.artifact.view().lines(),
            },
            path: None,
        };
        let slot = Slot::new(Nonce::of([0xa5; 16]));
        let prompt = counter.count(&prompt::map(&self.case, &widest, &slot))
            + counter.count(&prompt::chunk(&self.case, "", &slot));
        let taken = prompt + self.answer_tokens() + limits.window / MARGIN;
        match limits.window.saturating_sub(taken) {
            small if small < LEAST => 0,
            room => room,
        }
    }

    /// Returns the maximum size of a chunk, in tokens: the configured size, but at most `room`.
    pub(crate) fn chunk_tokens(&self, room: u64) -> u64 {
        match self.case.settings.chunk_tokens {
            0 => room,
            tokens => tokens.max(LEAST).min(room),
        }
    }

    /// Plans the chunks of the artifact and decides which are read.
    pub(crate) fn reading(&self, room: u64) -> io::Result<Reading> {
        let settings = &self.case.settings;
        let capped = self.chunk_tokens(room);
        let (artifact, counter) = (&*self.case.artifact, &*self.case.counter);
        let want = |chunk_tokens| Want {
            chunk_tokens,
            overlap_percent: settings.overlap_percent.min(50),
            most_chunks: settings.max_chunks_hard.max(1),
        };
        let hard = usize::try_from(settings.max_chunks_hard.max(1)).unwrap_or(usize::MAX);
        let mut chunk_tokens = capped;
        let mut planned = plan(artifact, &want(capped), counter)?;
        if planned.is_too_many() && capped < room {
            // Larger chunks are read less accurately, but chunks that are not read at all are
            // worse.
            let needed = planned.estimated_tokens.div_ceil(hard as u64);
            chunk_tokens = (needed + needed / 4).clamp(capped, room);
            planned = plan(artifact, &want(chunk_tokens), counter)?;
        }
        let order = match planned.is_too_many() || self.may_stop_early() {
            true => planned.order(artifact, &self.case.extract, counter)?,
            false => (0..planned.chunks.len()).collect(),
        };
        Ok(Reading {
            order: order.into_iter().take(hard).collect(),
            plan: planned,
            asked_tokens: (chunk_tokens > capped).then_some(capped),
            chunk_tokens,
            splits: AtomicU64::new(settings.max_chunks_hard.max(LEAST_SPLITS)),
        })
    }

    /// Returns whether one verified answer is enough.
    pub(crate) fn may_stop_early(&self) -> bool {
        self.case.settings.early_stop && !is_exhaustive(&self.case.extract)
    }
}

/// Returns whether a question asks for everything.
fn is_exhaustive(extract: &str) -> bool {
    let words: Vec<String> = extract
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let text = format!(" {} ", words.join(" "));
    EXHAUSTIVE
        .iter()
        .any(|word| text.contains(&format!(" {word} ")))
}

impl Reading {
    /// Takes one split from the budget; returns `false` if none is left. Without this limit, a
    /// server that rejects everything as too long would receive a request for every single line.
    pub(crate) fn may_split(&self) -> bool {
        let taken = |left: u64| left.checked_sub(1);
        let order = Ordering::Relaxed;
        self.splits.fetch_update(order, order, taken).is_ok()
    }

    /// Returns what the prompt says about a chunk.
    pub(crate) fn info(&self, index: usize, chunk: &Chunk) -> ChunkInfo {
        ChunkInfo {
            index: index + 1,
            total: self.plan.chunks.len(),
            overlap_percent: self.plan.overlap_percent,
            lines: chunk.lines,
            path: chunk.path.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_everything_have_no_early_end() {
        for (extract, exhaustive) in [
            ("the price of item 7", false),
            ("All error codes", true),
            ("how many requests failed?", true),
            ("the wallet's address", false),
            ("listing of users", false),
            ("List the users", true),
        ] {
            assert_eq!(is_exhaustive(extract), exhaustive, "{extract}");
        }
    }
}
