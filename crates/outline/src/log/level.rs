//! Finds the level of a log line.

/// Levels, the most severe first. A level may have several spellings in logs.
pub(super) const NAMES: [&str; 7] = ["FATAL", "ERROR", "WARN", "NOTICE", "INFO", "DEBUG", "TRACE"];

/// Maximum number of tokens of a line that are searched for its level. A later word is part of the
/// message.
const LOOKED_AT: usize = 12;

/// Words, in lower case, that show that a template reports an error.
const TROUBLE: [&str; 18] = [
    "error",
    "fail",
    "exception",
    "panic",
    "fatal",
    "critical",
    "timeout",
    "timed out",
    "refused",
    "denied",
    "reset by peer",
    "traceback",
    "abort",
    "unreachable",
    "corrupt",
    "exhausted",
    "killed",
    "out of memory",
];

/// Returns the level of a line with these tokens, as an index into [`NAMES`]: a word in capitals,
/// or any spelling in brackets or after `level=`.
pub(super) fn of(tokens: &[String]) -> Option<usize> {
    tokens.iter().take(LOOKED_AT).find_map(|token| {
        let bare = token.trim_matches(|c: char| !c.is_ascii_alphabetic());
        let word = ["level=", "lvl=", "severity="]
            .iter()
            .find_map(|key| token.strip_prefix(key))
            .map_or(bare, |value| value.trim_matches('"'));
        let is_marked = word.len() < bare.len() || (token.starts_with('[') && token.ends_with(']'));
        let is_loud = word.bytes().all(|byte| byte.is_ascii_uppercase());
        (is_marked || is_loud).then(|| named(word)).flatten()
    })
}

fn named(word: &str) -> Option<usize> {
    let name = match word.to_ascii_uppercase().as_str() {
        "FATAL" | "CRITICAL" | "CRIT" | "EMERG" | "ALERT" | "PANIC" => "FATAL",
        "ERROR" | "ERR" | "SEVERE" => "ERROR",
        "WARN" | "WARNING" => "WARN",
        "NOTICE" => "NOTICE",
        "INFO" | "INFORMATION" => "INFO",
        "DEBUG" | "FINE" | "VERBOSE" => "DEBUG",
        "TRACE" => "TRACE",
        _ => return None,
    };
    NAMES.iter().position(|known| *known == name)
}

/// Returns whether a template reports an error.
pub(super) fn is_trouble(tokens: &[String], template: &str) -> bool {
    let grave = of(tokens).is_some_and(|level| level <= 1);
    let lower = template.to_ascii_lowercase();
    grave || TROUBLE.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        for (line, want) in [
            ("<*> ERROR x", Some("ERROR")),
            ("<*> [warning] x", Some("WARN")),
            ("[INFO] x", Some("INFO")),
            ("level=info msg=x", Some("INFO")),
            ("time=1 level=\"fatal\"", Some("FATAL")),
            ("<*> main: SEVERE: x", Some("ERROR")),
            ("no error here", None),
            ("An INFORMATIVE word", None),
            ("", None),
        ] {
            let tokens: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(of(&tokens).map(|at| NAMES[at]), want, "{line}");
        }
    }
}
