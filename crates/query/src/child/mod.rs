//! The child process.
//!
//! It takes its limits on itself, opens nothing, runs one filter on what is in
//! its standard input and says what came of it. Whatever goes wrong here (a
//! stack that overflows, memory that is not given, a loop without an end) ends
//! this process and nothing else.

mod documents;
mod jq;
mod json;
mod lazy;
mod missing;
mod plan;
mod run;
mod sink;
mod table;
mod text;

use std::io::{self, Write};

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use spillgate_artifact::ByteSource;

use crate::protocol::{Message, Refusal, Request};

/// Bytes of the stack on which parsers and filters recurse: a filter of the
/// greatest length and a document of the greatest depth need a small part.
const STACK: usize = 256 << 20;

/// Bytes that the program itself maps beside data, stack and results.
const PROGRAM: u64 = 256 << 20;

/// Runs the one filter that `request`, the value of [`REQUEST`](crate::REQUEST),
/// names over `input`, which is what stands
/// in standard input, and writes what comes of it to `out`. Gives the exit
/// code. Only ever called in a process of its own: it lowers that process's
/// limits for good.
pub fn child_main(request: &str, input: &dyn ByteSource, out: &mut (dyn Write + Send)) -> u8 {
    match serve(request, input, out) {
        Ok(()) => 0,
        // Nobody reads any more, or there was nothing to do.
        Err(_) => 1,
    }
}

fn serve(request: &str, input: &dyn ByteSource, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let request: Request = serde_json::from_str(request)?;
    confine(&request)?;
    work(&request, input, out)
}

/// The same within this process, without limits: for filters that a fuzz target has made, which
/// end. Never for those of a model (ADR 22).
#[doc(hidden)]
pub fn unconfined(
    request: &str,
    input: &dyn ByteSource,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    work(&serde_json::from_str(request)?, input, out)
}

fn work(request: &Request, input: &dyn ByteSource, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let mut buffer = Vec::new();
    let end = request.from.saturating_add(request.length);
    let data = input.window(request.from, end, &mut buffer)?;
    if (data.len() as u64) < request.length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let run = || -> io::Result<()> {
        let mut sink = sink::Sink::new(request, out);
        let message = match run::run(request, data, &mut sink) {
            Ok(summary) => Message::End(summary),
            Err(refusal) => Message::Refused(refusal),
        };
        sink.message(&message)
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let thread = builder.spawn_scoped(scope, run)?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the filter panicked")))
    })
}

/// No more memory and time than allowed, no new file, nothing written anywhere,
/// no core, and no life without the parent.
fn confine(request: &Request) -> io::Result<()> {
    let memory = request
        .memory
        .saturating_add(request.length)
        .saturating_add(STACK as u64 + PROGRAM);
    let limits = [
        (Resource::As, memory),
        (Resource::Cpu, request.cpu),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 0),
    ];
    for (resource, limit) in limits {
        let limit = Rlimit {
            current: Some(limit),
            maximum: Some(limit),
        };
        setrlimit(resource, limit)?;
    }
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// Refuses what cannot be read.
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed {
            message: error.to_string(),
        }
    }
}
