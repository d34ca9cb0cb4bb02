//! Shows the output of a command while it runs, if the user sits at a terminal.
//!
//! The command still writes into a pipe and not into a terminal of its own: what is stored is then
//! what a model's shell would have got, without the colours and progress bars that programs write
//! for a terminal. Prompts appear as soon as the program writes them. Programs that read a password
//! open the terminal themselves.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time without output after which the elapsed time is shown.
const SILENCE: Duration = Duration::from_secs(2);

/// Time between two looks at the clock.
const TICK: Duration = Duration::from_millis(500);

/// Columns at the right edge of the line for the elapsed time.
const ROOM: usize = 12;

/// The stream of the command that bytes belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Error,
}

/// Shows a command's output as it comes. While the command is silent, the elapsed time stands at the
/// right edge of the terminal's line; the cursor does not move, so that prompts stay usable.
#[derive(Debug)]
pub(super) struct Live {
    screen: Arc<Mutex<Screen>>,
    /// Dropping it ends the thread.
    end: Option<Sender<()>>,
    clock: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Screen {
    started: Instant,
    last_output: Instant,
    shows_time: bool,
    ends_in_line: bool,
}

impl Live {
    /// Starts to show output. The elapsed time is shown on standard error if it is a terminal.
    pub(super) fn start() -> Self {
        let now = Instant::now();
        let screen = Arc::new(Mutex::new(Screen {
            started: now,
            last_output: now,
            shows_time: false,
            ends_in_line: false,
        }));
        let (end, ended) = channel();
        let clock = io::stderr().is_terminal().then(|| {
            let screen = Arc::clone(&screen);
            std::thread::spawn(move || tick(&screen, &ended))
        });
        Self {
            screen,
            end: Some(end),
            clock,
        }
    }

    /// Returns a reader that shows what is read from `reader`.
    pub(super) fn shown<R: Read>(&self, reader: R, stream: Stream) -> impl Read + use<R> {
        Tee {
            reader,
            screen: Arc::clone(&self.screen),
            stream,
        }
    }

    /// Ends the display, and with it the line that the command left open. Returns how long the
    /// command took.
    pub(super) fn end(mut self) -> Duration {
        drop(self.end.take());
        if let Some(clock) = self.clock.take() {
            drop(clock.join());
        }
        let mut screen = locked(&self.screen);
        screen.hide_time();
        if screen.ends_in_line {
            drop(io::stdout().write_all(b"\n"));
        }
        screen.started.elapsed()
    }
}

fn locked(screen: &Mutex<Screen>) -> MutexGuard<'_, Screen> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the elapsed time while the command is silent.
fn tick(screen: &Mutex<Screen>, ended: &Receiver<()>) {
    while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let mut screen = locked(screen);
        if screen.last_output.elapsed() >= SILENCE {
            screen.show_time();
        }
    }
}

impl Screen {
    fn show_time(&mut self) {
        let elapsed = Duration::from_secs(self.started.elapsed().as_secs());
        let text = humantime::format_duration(elapsed).to_string();
        self.at_the_edge(&format!("\u{1b}[2m{text:>ROOM$}\u{1b}[0m"));
        self.shows_time = true;
    }

    fn hide_time(&mut self) {
        if self.shows_time {
            self.at_the_edge("\u{1b}[K");
            self.shows_time = false;
        }
    }

    /// Writes at the right edge of the line and puts the cursor back.
    #[expect(
        clippy::unused_self,
        reason = "the lock keeps others from writing meanwhile"
    )]
    fn at_the_edge(&self, text: &str) {
        let back = ROOM - 1;
        let mut error = io::stderr().lock();
        drop(write!(
            error,
            "\u{1b}7\u{1b}[999C\u{1b}[{back}D{text}\u{1b}8"
        ));
        drop(error.flush());
    }

    fn show(&mut self, bytes: &[u8], stream: Stream) {
        let Some(last) = bytes.last() else { return };
        self.hide_time();
        // The command goes on even if the terminal is gone; its output is stored.
        let written = match stream {
            Stream::Output => io::stdout()
                .write_all(bytes)
                .and_then(|()| io::stdout().flush()),
            Stream::Error => io::stderr().write_all(bytes),
        };
        drop(written);
        self.last_output = Instant::now();
        self.ends_in_line = *last != b'\n';
    }
}

/// A reader that shows what is read.
struct Tee<R> {
    reader: R,
    screen: Arc<Mutex<Screen>>,
    stream: Stream,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        locked(&self.screen).show(&buffer[..count], self.stream);
        Ok(count)
    }
}
