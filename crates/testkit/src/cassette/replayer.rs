//! Replays recorded exchanges with a model.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};

use super::varying::{Blanked, Varying, nonces};
use super::{Exchange, Head, Outcome, VERSION};
use parking_lot::Mutex;
use spillgate_llm::{
    ChatModel, ErrorKind, LlmError, ModelLimits, OnDelta, Reply, ReplyFuture, Request, Target,
};

/// A cassette cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("the cassette {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A line has the wrong format.
    #[error("the cassette {}, line {line}: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// What is wrong with the line.
        why: String,
    },
}

/// The outcomes of equal requests, in the order in which they were recorded.
#[derive(Debug, Default)]
struct Takes {
    left: VecDeque<(Blanked, Outcome)>,
    recorded: usize,
}

/// A model that replays recorded replies.
///
/// A request is answered by the next recorded exchange whose request is the same, apart from the
/// parts that may vary. A request that is not on the cassette, or that is made more often than it
/// was recorded, fails with an error for which a retry is useless.
pub struct Replayer {
    head: Head,
    varying: Box<Varying>,
    takes: Mutex<HashMap<String, Takes>>,
}

impl Replayer {
    /// Replays the cassette at `path`. Requests may differ from the recorded ones in their
    /// [`nonces`].
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        Self::with(path, Box::new(nonces))
    }

    /// Replays the cassette at `path`. Requests may differ from the recorded ones in the parts that
    /// `varying` finds.
    pub fn with(path: &Path, varying: Box<Varying>) -> Result<Self, CassetteError> {
        let text = std::fs::read_to_string(path).map_err(|source| CassetteError::Read {
            path: path.to_owned(),
            source,
        })?;
        let wrong = |line: usize, why: String| CassetteError::Line {
            path: path.to_owned(),
            line: line + 1,
            why,
        };
        let mut lines = text.lines().enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        let head: Head = serde_json::from_str(first)
            .map_err(|error| wrong(0, format!("not the beginning of a cassette: {error}")))?;
        if head.cassette != VERSION {
            let why = format!("version {} is not {VERSION}", head.cassette);
            return Err(wrong(0, why));
        }
        let mut takes: HashMap<String, Takes> = HashMap::new();
        for (number, line) in lines {
            let exchange: Exchange =
                serde_json::from_str(line).map_err(|error| wrong(number, error.to_string()))?;
            let blanked = Blanked::new(&exchange.request, varying.as_ref());
            let same = takes.entry(blanked.text.clone()).or_default();
            same.left.push_back((blanked, exchange.outcome));
            same.recorded += 1;
        }
        Ok(Self {
            head,
            varying,
            takes: Mutex::new(takes),
        })
    }

    /// Returns the number of recorded exchanges that were not replayed.
    #[must_use]
    pub fn left(&self) -> usize {
        let takes = self.takes.lock();
        takes.values().map(|same| same.left.len()).sum()
    }

    fn play(&self, request: &Request) -> Result<Reply, LlmError> {
        let now = Blanked::new(request, self.varying.as_ref());
        let mut takes = self.takes.lock();
        let missing = |why: String| LlmError::new(ErrorKind::BadRequest, self.target(), why);
        let Some(same) = takes.get_mut(&now.text) else {
            return Err(missing(format!(
                "the request is not on the cassette ({} bytes, {} messages); record it again",
                request.bytes(),
                request.messages.len()
            )));
        };
        match same.left.pop_front() {
            Some((then, Outcome::Reply(reply))) => Ok(then.reply_to(&now, reply)),
            Some((_, Outcome::Error(error))) => Err(error),
            None => Err(missing(format!(
                "the request is on the cassette {} times and was asked once more",
                same.recorded
            ))),
        }
    }
}

impl fmt::Debug for Replayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayer")
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

impl ChatModel for Replayer {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        Box::pin(async move {
            let reply = self.play(request)?;
            deltas.text(&reply.text);
            Ok(reply)
        })
    }

    fn target(&self) -> Target {
        self.head.target.clone()
    }

    fn limits(&self) -> ModelLimits {
        self.head.limits
    }
}
