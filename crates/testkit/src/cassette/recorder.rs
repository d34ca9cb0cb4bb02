//! Records exchanges with a model in a file.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::Serialize;

use super::{Exchange, Head, Outcome, VERSION};
use spillgate_llm::{
    ChatModel, ErrorKind, LlmError, ModelLimits, OnDelta, ReplyFuture, Request, Target,
};

/// A model whose exchanges are written to a cassette.
///
/// The file holds the model's requests and replies, including everything in their texts, but no
/// keys. Only the file's owner can read it.
pub struct Recorder<M> {
    model: M,
    path: PathBuf,
    file: Mutex<File>,
}

impl<M: ChatModel> Recorder<M> {
    /// Records `model` on the cassette at `path`, after the exchanges that the file already
    /// contains.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or written, if it is not a cassette, or if its target or
    /// limits differ from the model's.
    pub fn new(model: M, path: &Path) -> io::Result<Self> {
        let head = Head {
            cassette: VERSION,
            target: model.target(),
            limits: model.limits(),
        };
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let mut first = String::new();
        BufReader::new(&file).read_line(&mut first)?;
        match first.is_empty() {
            true => write_line(&mut file, &head)?,
            false if serde_json::from_str::<Head>(&first).ok().as_ref() == Some(&head) => {}
            false => {
                let why = "the file is no cassette of this model with these limits";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        }
        // An existing cassette may be readable by others.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        Ok(Self {
            model,
            path: path.to_owned(),
            file: Mutex::new(file),
        })
    }
}

/// Writes a line with a single write, so that an interrupted recording is valid up to its last
/// line.
fn write_line(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)
}

impl<M: fmt::Debug> fmt::Debug for Recorder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("model", &self.model)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl<M: ChatModel> ChatModel for Recorder<M> {
    fn chat<'a>(&'a self, request: &'a Request, deltas: &'a dyn OnDelta) -> ReplyFuture<'a> {
        Box::pin(async move {
            let result = self.model.chat(request, deltas).await;
            let exchange = Exchange {
                request: request.clone(),
                outcome: match &result {
                    Ok(reply) => Outcome::Reply(reply.clone()),
                    Err(error) => Outcome::Error(error.clone()),
                },
            };
            // A recording with a gap is worse than a visible failure.
            write_line(&mut self.file.lock(), &exchange).map_err(|error| {
                let message = format!("the exchange cannot be recorded: {error}");
                LlmError::new(ErrorKind::BadRequest, self.target(), message)
            })?;
            result
        })
    }

    fn target(&self) -> Target {
        self.model.target()
    }

    fn limits(&self) -> ModelLimits {
        self.model.limits()
    }
}
