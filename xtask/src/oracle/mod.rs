//! `cargo xtask oracle OLD NEW`: compares the outputs of two builds, apart from handles and times.

mod commands;
mod gateway;
mod inputs;
mod plain;
mod sides;

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::inputs::Input;
use self::plain::Plain;
use self::sides::{Said, Side};
use crate::attack::Chance;
use crate::command::run;
use crate::report::{Report, say};
use crate::workspace;

const USAGE: &str = "usage: cargo xtask oracle OLD NEW [--only texts|commands|calls|frames] [--quick]\n\
    OLD and NEW are two builds of spillgate";

/// Number of broken frames, in a full and in a quick run.
const FRAMES: [usize; 2] = [10_000, 1_000];

/// In a quick run, one of this many inputs is used.
const QUICK: usize = 9;

/// Maximum number of differences that are printed, because there may be many of one kind.
const TOLD: usize = 20;

/// Number of characters before a difference that are printed.
const NEAR: usize = 60;

/// The builds to compare, and what to compare.
#[derive(Debug)]
struct Plan {
    programs: [PathBuf; 2],
    only: Option<String>,
    is_quick: bool,
}

impl Plan {
    fn of(arguments: &[String]) -> Result<Self> {
        let (mut programs, mut only, mut is_quick) = (Vec::new(), None, false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => is_quick = true,
                "--only" => only = Some(words.next().context(USAGE)?.clone()),
                other if other.starts_with('-') => bail!(USAGE),
                program => programs.push(
                    fs::canonicalize(program)
                        .with_context(|| format!("there is no program {program}"))?,
                ),
            }
        }
        let Ok(programs) = <[PathBuf; 2]>::try_from(programs) else {
            bail!(USAGE);
        };
        Ok(Self {
            programs,
            only,
            is_quick,
        })
    }

    fn has(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }
}

/// Compares as `arguments` select. Fails if the builds differ.
pub(crate) fn run_with(report: &mut Report, arguments: &[String]) -> Result<()> {
    let plan = Plan::of(arguments)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let mut oracle = Oracle {
        library: library()?,
        plain: Plain::new()?,
        interrupted,
        programs: plan.programs.clone(),
        compared: 0,
        differences: Vec::new(),
    };
    let every = if plan.is_quick { QUICK } else { 1 };
    let inputs = inputs::all(every);
    if plan.has("texts") {
        report.step("what the program says of itself", || {
            oracle.compare("texts", &commands::texts)
        })?;
    }
    if plan.has("commands") {
        report.step("inputs, profiles and commands", || {
            let each =
                |input: &Input| oracle.compare(&input.name, &|side| commands::ask(side, input));
            inputs.iter().try_for_each(each)
        })?;
    }
    if plan.has("calls") {
        report.step("results through the gateway", || {
            // The gateway's messages are text, so bytes that are not UTF-8 arrive as replacement
            // characters.
            inputs
                .chunks(8)
                .try_for_each(|some| oracle.compare("calls", &|side| gateway::calls(side, some)))
        })?;
    }
    if plan.has("frames") {
        report.step("broken frames", || {
            let count = FRAMES[usize::from(plan.is_quick)];
            oracle.compare("frames", &|side| {
                gateway::frames(side, count, &mut Chance::of(1, "oracle"))
            })
        })?;
    }
    oracle.conclude()
}

/// The two builds and their differences.
struct Oracle {
    library: PathBuf,
    plain: Plain,
    interrupted: Arc<AtomicBool>,
    programs: [PathBuf; 2],
    compared: usize,
    differences: Vec<String>,
}

impl Oracle {
    /// Asks both builds at the same time, each in a directory of its own.
    fn compare(
        &mut self,
        of: &str,
        ask: &(dyn Fn(&mut Side<'_>) -> Result<Vec<Said>> + Sync),
    ) -> Result<()> {
        let [old, new] = thread::scope(|scope| {
            let asking = self.programs.each_ref().map(|program| {
                let (library, plain, interrupted) = (&self.library, &self.plain, &self.interrupted);
                scope.spawn(move || ask(&mut Side::new(program, library, plain, interrupted)?))
            });
            asking.map(|asked| {
                asked
                    .join()
                    .map_err(|_| anyhow::anyhow!("a thread panicked"))?
            })
        })
        .map(|said: Result<Vec<Said>>| said);
        let (old, new) = (old?, new?);
        self.compared += old.len();
        self.differences.extend(differences(of, &old, &new));
        Ok(())
    }

    fn conclude(self) -> Result<()> {
        say(&format!("{} answers compared\n", self.compared))?;
        for told in self.differences.iter().take(TOLD) {
            say(&format!("\n{told}\n"))?;
        }
        let count = self.differences.len();
        ensure!(
            count == 0,
            "the builds differ in {count} of {} answers",
            self.compared
        );
        Ok(())
    }
}

/// Returns the differences, question by question. A question may be asked more than once.
fn differences(of: &str, old: &[Said], new: &[Said]) -> Vec<String> {
    let mut left: HashMap<&str, VecDeque<&Said>> = HashMap::new();
    for said in new {
        left.entry(&said.asked).or_default().push_back(said);
    }
    let mut found = Vec::new();
    for old in old {
        match left.get_mut(&*old.asked).and_then(VecDeque::pop_front) {
            Some(new) if new == old => {}
            Some(new) => found.push(difference(of, old, new)),
            None => found.push(format!("{of}: {}: only the old build answers", old.asked)),
        }
    }
    let only = new.iter().filter(|said| {
        let left = left.get_mut(&*said.asked).into_iter().flatten();
        left.into_iter().any(|one| std::ptr::eq(*one, *said))
    });
    found.extend(only.map(|said| format!("{of}: {}: only the new build answers", said.asked)));
    found
}

/// Describes the first line in which two answers differ.
fn difference(of: &str, old: &Said, new: &Said) -> String {
    let lines = |said: &Said| said.text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (was, is) = (lines(old), lines(new));
    let at = was
        .iter()
        .zip(&is)
        .position(|(was, is)| was != is)
        .unwrap_or(was.len().min(is.len()));
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
    let (was, is) = (line(&was), line(&is));
    let same = was
        .chars()
        .zip(is.chars())
        .take_while(|(was, is)| was == is);
    let before = same.count().saturating_sub(NEAR);
    let near = |line: &str| -> String { line.chars().skip(before).take(5 * NEAR).collect() };
    format!(
        "{of}: {}\n  line {}, from character {before}\n  old: {}\n  new: {}",
        old.asked,
        at + 1,
        near(&was),
        near(&is)
    )
}

/// Compiles the library that makes all handles cost the same number of tokens.
fn library() -> Result<PathBuf> {
    let library = workspace::built()?.join("liboracle_digits.so");
    let source = workspace::root().join("xtask/oracle/digits.rs");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-O", "-o"]);
    run(rustc.arg(&library).arg(Path::new(&source)))?;
    Ok(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_by_what_is_around_it() {
        let said = |text: &str| Said {
            asked: "read ID1".to_owned(),
            text: text.to_owned(),
        };
        let told = difference("log", &said("same\nis old\nx"), &said("same\nis new\nx"));
        assert_eq!(
            told,
            "log: read ID1\n  line 2, from character 0\n  old: is old\n  new: is new"
        );
    }

    #[test]
    fn answers_are_compared_by_their_questions() {
        let said = |asked: &str, text: &str| Said {
            asked: asked.to_owned(),
            text: text.to_owned(),
        };
        let old = [
            said("a", "1"),
            said("gone", "x"),
            said("b", "2"),
            said("a", "3"),
        ];
        let new = [
            said("a", "1"),
            said("b", "9"),
            said("a", "3"),
            said("more", "y"),
        ];
        assert!(differences("log", &old, &old).is_empty());
        assert_eq!(
            differences("log", &old, &new),
            [
                "log: gone: only the old build answers",
                "log: b\n  line 1, from character 0\n  old: 2\n  new: 9",
                "log: more: only the new build answers",
            ]
        );
    }

    #[test]
    fn two_programs_are_needed() {
        let plan = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            Plan::of(&words)
        };
        let own = std::env::current_exe().unwrap();
        let own = own.to_str().unwrap();
        assert!(plan(&[own]).is_err());
        assert!(plan(&[own, "/nothing/there"]).is_err());
        assert!(plan(&[own, own, "--fast"]).is_err());
        let both = plan(&[own, own, "--only", "calls", "--quick"]).unwrap();
        assert!(both.has("calls") && !both.has("texts") && both.is_quick);
    }
}
