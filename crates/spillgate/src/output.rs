//! Prints to standard output and standard error: in colour and through a pager on a terminal, and
//! plainly everywhere else.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use serde_json::Value;
use signal_hook::consts::SIGINT;
use spillgate_store::keep_key_from;
use spillgate_untrusted::marked;

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    #[default]
    Auto,
    /// Always, also into a pipe.
    Always,
    /// Never.
    Never,
}

/// What a part of a line is, which decides about its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// What the user looks for: a match.
    Match,
    /// A heading, or the most important figure.
    Strong,
    /// A success.
    Good,
    /// A failure.
    Bad,
    /// A warning.
    Warning,
    /// A name to type: a handle, a line number.
    Name,
    /// What matters less.
    Faint,
}

impl Paint {
    /// Returns the parameters of the escape sequence that selects the colour.
    fn parameters(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Good => "32",
            Self::Match | Self::Bad => "1;31",
            Self::Warning => "33",
            Self::Name => "36",
            Self::Faint => "2",
        }
    }
}

/// Colours parts of a text, or leaves them as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Painter(pub(crate) bool);

impl Painter {
    /// Returns a text in the colour `paint`. The text must be safe for a terminal.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        match self.0 && !text.is_empty() {
            true => format!("\u{1b}[{}m{text}\u{1b}[0m", paint.parameters()),
            false => text.to_owned(),
        }
    }
}

/// Breaks lines at spaces so that they fit into `width` columns. Lines that continue another begin
/// with `indent` spaces.
pub(crate) fn folded(text: &str, width: usize, indent: usize) -> String {
    let mut folded = String::new();
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            folded.push('\n');
        }
        let mut column = 0;
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if column > indent && column + length > width {
                folded.truncate(folded.trim_end_matches(' ').len());
                folded.push('\n');
                folded.push_str(&" ".repeat(indent));
                column = indent;
            }
            folded.push_str(word);
            column += word.chars().count();
        }
    }
    folded
}

/// Standard output and standard error. All printing goes through this type.
#[derive(Debug)]
pub(crate) struct Output {
    /// Whether `--json` is set: standard output gets one object, or one object per line for lists.
    pub(crate) json: bool,
    /// Whether standard output is a terminal.
    pub(crate) terminal: bool,
    /// The colours of standard output.
    pub(crate) painter: Painter,
    /// The colours of standard error.
    error_painter: Painter,
    /// Whether a long text may go through a pager.
    pages: bool,
    pager: RefCell<Option<Pager>>,
}

impl Output {
    pub(crate) fn new(json: bool, color: When) -> Self {
        let terminal = io::stdout().is_terminal();
        let is_coloured = |is_terminal: bool| {
            Painter(match color {
                When::Always => !json,
                When::Never => false,
                When::Auto => is_terminal && !json && !is_dumb() && !is_set("NO_COLOR"),
            })
        };
        Self {
            json,
            terminal,
            painter: is_coloured(terminal),
            error_painter: is_coloured(io::stderr().is_terminal()),
            pages: false,
            pager: RefCell::new(None),
        }
    }

    /// Lets a text go through a pager if the user sits at a terminal.
    pub(crate) fn paged(self) -> Self {
        let pages = self.terminal && !self.json && io::stdin().is_terminal() && !is_dumb();
        Self { pages, ..self }
    }

    /// Returns the width of the terminal in columns; `None` if standard output is none.
    pub(crate) fn width(&self) -> Option<usize> {
        if !self.terminal {
            return None;
        }
        let columns = rustix::termios::tcgetwinsize(io::stdout()).map(|size| size.ws_col);
        let columns = columns.ok().filter(|&columns| columns > 0);
        Some(usize::from(columns.unwrap_or(80)))
    }

    /// Prints one JSON object on one line.
    pub(crate) fn object(&self, value: &Value) -> io::Result<()> {
        self.raw(format!("{value}\n").as_bytes())
    }

    /// Prints a text byte for byte. On a terminal, hidden characters are marked and the text ends
    /// with a newline, so that the prompt starts on a new line.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        match self.terminal {
            true => self.raw(marked(text).as_bytes())?,
            false => self.raw(text.as_bytes())?,
        }
        match self.terminal && !text.is_empty() && !text.ends_with('\n') {
            true => self.raw(b"\n"),
            false => Ok(()),
        }
    }

    /// Prints a text that is no exact content, such as a preview: like [`text`](Self::text), and it
    /// ends with a newline everywhere.
    pub(crate) fn ended(&self, text: &str) -> io::Result<()> {
        self.text(text)?;
        match !self.terminal && !text.is_empty() && !text.ends_with('\n') {
            true => self.raw(b"\n"),
            false => Ok(()),
        }
    }

    /// Prints bytes unchanged.
    pub(crate) fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        self.with(|out| out.write_all(bytes))
    }

    /// Lets `write` write to standard output. A closed pipe is not an error, because its reader
    /// needs no more output.
    pub(crate) fn with(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut pager = self.pager.borrow_mut();
        if self.pages && pager.is_none() {
            *pager = Pager::start();
        }
        let mut stdout = io::stdout().lock();
        let out: &mut dyn Write = match pager.as_mut().and_then(|pager| pager.0.stdin.as_mut()) {
            Some(stdin) => stdin,
            None => &mut stdout,
        };
        match write(out).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Prints a line for the user on standard error, or in the pager, which covers it. Errors are
    /// ignored.
    pub(crate) fn note(&self, line: &str) {
        let mut pager = self.pager.borrow_mut();
        drop(
            match pager.as_mut().and_then(|pager| pager.0.stdin.as_mut()) {
                Some(stdin) => writeln!(stdin, "{line}"),
                None => writeln!(io::stderr(), "{line}"),
            },
        );
    }

    /// Prints a question to the user on standard error, without a newline. Errors are ignored.
    #[expect(clippy::unused_self, reason = "all printing goes through one value")]
    pub(crate) fn ask(&self, question: &str) {
        drop(write!(io::stderr(), "{question}"));
    }

    /// Prints an error or advice, broken at spaces if standard error is a terminal.
    pub(crate) fn advice(&self, paint: Paint, title: &str, text: &str) {
        let columns = rustix::termios::tcgetwinsize(io::stderr()).map(|size| size.ws_col);
        let width = columns.ok().filter(|&columns| columns > 0).map(usize::from);
        let text = format!("{title} {text}");
        let text = width.map_or(text.clone(), |width| folded(&text, width, 2));
        let rest = text.strip_prefix(title).unwrap_or(&text);
        self.note(&format!("{}{rest}", self.error_painter.paint(paint, title)));
    }

    /// Returns the colours of what [`note`](Self::note) prints.
    pub(crate) fn note_painter(&self) -> Painter {
        self.error_painter
    }

    /// Waits until the user leaves the pager.
    pub(crate) fn finish(&self) {
        self.pager.borrow_mut().take();
    }
}

/// A running pager. Dropping it waits for its end.
#[derive(Debug)]
struct Pager(Child);

impl Pager {
    /// Starts the user's pager; `None` if there is none, or if it cannot be started.
    fn start() -> Option<Self> {
        let command = match std::env::var("PAGER") {
            Ok(command) if ["", "cat"].contains(&command.trim()) => return None,
            Ok(command) => command,
            Err(_) => "less".to_owned(),
        };
        let mut pager = Command::new("sh");
        keep_key_from(&mut pager);
        let program = command.split_whitespace().next().unwrap_or_default();
        // If the pager does not exist, the text is printed as it is.
        let script = format!("command -v {program} >/dev/null || exec cat; exec {command}");
        pager.args(["-c", &script]).stdin(Stdio::piped());
        // Show a short text without paging, colours as colours, and leave the text on the screen.
        for (name, value) in [("LESS", "FRX"), ("LESSCHARSET", "utf-8")] {
            if std::env::var_os(name).is_none() {
                pager.env(name, value);
            }
        }
        let pager = pager.spawn().ok()?;
        // Ctrl-C is for the pager: without this process, it would be left alone at the terminal.
        drop(signal_hook::flag::register(
            SIGINT,
            Arc::new(AtomicBool::new(false)),
        ));
        Some(Self(pager))
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

/// Returns whether a variable has a value that is not empty.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Returns whether the terminal can only print lines: `TERM` is `dumb`, as programs set it that run
/// commands for a model, or is not set.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces() {
        for (text, want) in [
            ("", ""),
            ("short", "short"),
            ("one two three four", "one two\n  three\n  four"),
            ("one\ntwo three four", "one\ntwo\n  three\n  four"),
            ("a-word-that-is-too-long x", "a-word-that-is-too-long\n  x"),
            ("  indented words here", "  indented\n  words\n  here"),
        ] {
            assert_eq!(folded(text, 8, 2), want, "{text}");
        }
    }

    #[test]
    fn colours_are_around_the_text() {
        assert_eq!(
            Painter(true).paint(Paint::Match, "x"),
            "\u{1b}[1;31mx\u{1b}[0m"
        );
        assert_eq!(Painter(true).paint(Paint::Match, ""), "");
        assert_eq!(Painter(false).paint(Paint::Match, "x"), "x");
    }
}
