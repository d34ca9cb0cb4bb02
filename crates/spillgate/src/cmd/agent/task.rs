//! Reads the task of an agent.
//!
//! The task comes from the command line or from standard input. It is an error if both contain one,
//! because the piped input would otherwise be lost silently.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};

use crate::failure::{Failure, Fault};

/// Maximum size of a task, 16 MiB: more than any model's context.
const MOST_BYTES: u64 = 16 << 20;

/// How long to wait for piped input: 100 ms. Input that arrives in this time is assumed to be meant
/// for this run.
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// A source of a task other than the command line.
pub(super) trait Input {
    /// Whether the input is a terminal, at which a person would have to type the task.
    fn is_terminal(&self) -> bool;
    /// Whether the input contains something to read. Waits only briefly.
    fn has_something(&mut self) -> io::Result<bool>;
    /// Reads everything, up to `most` bytes.
    fn all(&mut self, most: u64) -> io::Result<Vec<u8>>;
}

/// The standard input of this process.
pub(super) struct Stdin;

impl Input for Stdin {
    fn is_terminal(&self) -> bool {
        io::IsTerminal::is_terminal(&io::stdin())
    }

    fn has_something(&mut self) -> io::Result<bool> {
        let stdin = io::stdin();
        let kind = FileType::from_raw_mode(fstat(&stdin)?.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::Fifo) {
            return Ok(false); // a terminal, /dev/null, or a socket that belongs to another program
        }
        let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut waiting, Some(&AT_ONCE))? == 0 {
            return Ok(false);
        }
        // The byte that is consumed here is not needed, because any input at this point is an
        // error.
        let mut first = [0];
        let mut file = File::from(stdin.as_fd().try_clone_to_owned()?);
        Ok(file.read(&mut first)? > 0)
    }

    fn all(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Reads the task from the arguments or from `input`.
pub(super) fn task(arguments: &[String], input: &mut dyn Input) -> Result<String, Failure> {
    match arguments {
        [] if input.is_terminal() => Err(usage(
            "there is no task",
            "give it as an argument in quotes, or on standard input: `echo TASK | spillgate agent FILE`",
        )),
        [] => read(input),
        [dash] if dash == "-" => read(input),
        [one] => match input.has_something()? {
            true => Err(usage(
                "the task is given twice: as an argument and on standard input",
                "give only one of them: piped input can be the whole task, and `< /dev/null` prevents piped input",
            )),
            false => worded(one),
        },
        several if several.iter().any(|one| one == "-") => Err(usage(
            "the task is given twice: as an argument and, by `-`, on standard input",
            "leave one of them out",
        )),
        several => Err(usage(
            &format!("the task is given in {} arguments", several.len()),
            "put it in quotes: spillgate agent FILE \"the whole task\"",
        )),
    }
}

fn read(input: &mut dyn Input) -> Result<String, Failure> {
    let bytes = input.all(MOST_BYTES + 1)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(usage(
            &format!("the task on standard input is over {MOST_BYTES} bytes"),
            "no model could read it: have the agent read it by a tool, or store it with `spillgate put`",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        usage(
            &format!("the task on standard input is no text: byte {at} is not UTF-8"),
            "give the task in words; files are read by tools",
        )
    })?;
    worded(&text)
}

fn worded(text: &str) -> Result<String, Failure> {
    match text.trim() {
        "" => Err(usage(
            "the task is empty",
            "say in words what is to be done, as an argument or on standard input",
        )),
        task => Ok(task.to_owned()),
    }
}

fn usage(what: &str, hint: &str) -> Failure {
    Failure::new("usage", Fault::Caller, what)
        .hint(hint)
        .code(2)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    struct Given {
        is_terminal: bool,
        bytes: Vec<u8>,
    }

    impl Input for Given {
        fn is_terminal(&self) -> bool {
            self.is_terminal
        }

        fn has_something(&mut self) -> io::Result<bool> {
            Ok(!self.is_terminal && !self.bytes.is_empty())
        }

        fn all(&mut self, most: u64) -> io::Result<Vec<u8>> {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            Ok(self.bytes[..self.bytes.len().min(most)].to_vec())
        }
    }

    #[test]
    fn a_task_comes_one_way() {
        let large = vec![b'x'; 17 << 20];
        let cases: [(&[&str], Option<&[u8]>); 11] = [
            (&["find it"], None),
            (&["find it"], Some(b"")),
            (&[], Some(b" find it\n")),
            (&["-"], Some(b"find it")),
            (&[], None),
            (&[], Some(b" \n")),
            (&["find it"], Some(b"and this")),
            (&["find it", "-"], Some(b"and this")),
            (&["find", "it"], None),
            (&[], Some(b"ab\xff")),
            (&["-"], Some(&large)),
        ];
        let told = cases.map(|(arguments, piped)| {
            let arguments: Vec<String> = arguments.iter().map(|&one| one.to_owned()).collect();
            let mut input = Given {
                is_terminal: piped.is_none(),
                bytes: piped.unwrap_or_default().to_vec(),
            };
            match task(&arguments, &mut input) {
                Ok(task) => format!("{task:?}"),
                Err(failure) => format!("{}: {}", failure.code, failure.text()),
            }
        });
        assert_snapshot!(told.join("\n"), @r#"
        "find it"
        "find it"
        "find it"
        "find it"
        2: there is no task
        2: the task is empty
        2: the task is given twice: as an argument and on standard input
        2: the task is given twice: as an argument and, by `-`, on standard input
        2: the task is given in 2 arguments
        2: the task on standard input is no text: byte 2 is not UTF-8
        2: the task on standard input is over 16777216 bytes
        "#);
    }
}
