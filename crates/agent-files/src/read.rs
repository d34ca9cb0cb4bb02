//! Converts parsed files into the types of settings, and the problems found into error messages.

use std::path::Path;

use serde::de::DeserializeOwned;
use spillgate_config::{Naming, Node, Problem, ProblemKind, Step, camel};

use crate::problem::{FileError, Problems};
use crate::refused;
use crate::wrong::{nearest, sentence};

/// Types that ignore unknown members, because these belong to other programs.
const LENIENT: [&str; 1] = ["McpServer"];

/// Tables whose values are usually secrets.
const SECRETIVE: [&str; 5] = ["env", "headers", "apiKey", "api_key", "apiKeyEnv"];

/// Reads `node` as a `T`. `above` is the path of keys that leads to the node in `file`.
pub(crate) fn read<T: DeserializeOwned>(
    node: &Node,
    file: &Path,
    above: &[String],
) -> Result<T, Problems> {
    let naming = Naming::Either { lenient: &LENIENT };
    spillgate_config::read(node, naming).map_err(|problems| {
        let told = problems.into_iter().map(|one| told(one, file, above));
        Problems(told.collect())
    })
}

fn told(problem: Problem, file: &Path, above: &[String]) -> FileError {
    let steps = problem.key.into_iter().map(|step| match step {
        Step::Key(key) => key,
        Step::Index(index) => format!("[{index}]"),
    });
    let steps: Vec<String> = above.iter().cloned().chain(steps).collect();
    let is_secretive = |step: &String| SECRETIVE.contains(&&**step);
    let may_be_secret = problem.is_from_variable || steps.iter().any(is_secretive);
    let is_hidden = may_be_secret && !problem.is_of_key;
    let (what, hint) = match problem.kind {
        ProblemKind::Key { name, known } if problem.is_of_key => unknown(&name, known),
        ProblemKind::Twice {
            other: Some((other, line)),
            ..
        } => {
            let what = format!("is set as `{other}` on line {line}, too");
            (what, Some("keep one of them".to_owned()))
        }
        kind => (sentence(&kind, is_hidden), None),
    };
    let error = FileError::whole(file, what)
        .at(problem.at)
        .of(joined(&steps));
    FileError { hint, ..error }
}

/// Returns the error for an unknown key, and advice.
fn unknown(key: &str, known: &[&str]) -> (String, Option<String>) {
    if let Some((why, hint)) = refused::why(key) {
        return (why.to_owned(), Some(hint.to_owned()));
    }
    let choice = known.iter().copied().filter(|name| {
        // Suggests only one spelling of each key.
        !known.contains(&&*camel(name)) || camel(name) == **name
    });
    let what = "there is no such key".to_owned();
    (what, Some(nearest(key, choice)))
}

/// Joins keys and, in lists, `[index]` to a path.
pub(crate) fn joined(steps: &[String]) -> String {
    steps.iter().fold(String::new(), |key, step| {
        let is_joined = key.is_empty() || step.starts_with('[');
        key + if is_joined { "" } else { "." } + step
    })
}
