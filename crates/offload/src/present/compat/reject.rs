//! The `reject` profile: an error that says what to do instead, without partial data.

use spillgate_artifact::{HandleForm, Stats};
use spillgate_outline::grouped;
use spillgate_text::ScanFacts;

use crate::RetrieveError;
use crate::limits::Limits;
use crate::present::{Message, Sizes, Strategy, Subject};
use crate::recovery::{Recovery, Structure};
use crate::rejection::{Rejection, estimated_tokens};

/// Default maximum of tokens, estimated at four bytes each.
pub const REJECT_TOKENS: u64 = 25_000;

/// The `reject` profile.
pub(crate) struct Reject;

impl Strategy for Reject {
    fn name(&self) -> &'static str {
        "reject"
    }

    /// The form that the profile's texts and tests were written for.
    fn handle_form(&self) -> HandleForm {
        HandleForm::Long
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            tokens: Some(REJECT_TOKENS),
            ..Sizes::default()
        }
    }

    fn is_refusal(&self) -> bool {
        true
    }

    fn exceeds_tokens(&self, scan: &ScanFacts, limit: u64) -> Option<bool> {
        // The format estimates: its limit is 100,003 bytes and not a token count.
        Some(estimated_tokens(scan.bytes) > limit)
    }

    fn shows_outline(&self, limits: &Limits) -> bool {
        limits.detailed_recovery
    }

    fn message(&self, subject: &Subject<'_>) -> Result<Message, RetrieveError> {
        if subject.limits.detailed_recovery {
            return Ok(Message::fixed(with_recovery(subject)?));
        }
        let (facts, ways) = (subject.facts(), subject.ways());
        let text = reject(&facts.origin.tool, &facts.stats, subject.limits, &ways);
        Ok(Message::fixed(text))
    }
}

/// Formats the error for a result of `tool`. `ways` are the retrieval calls that the reader can
/// make; they appear for tools without a known way to ask for less.
fn reject(tool: &str, stats: &Stats, limits: &Limits, ways: &[String]) -> String {
    let tokens = estimated_tokens(stats.bytes);
    let most = limits
        .tokens
        .or(limits.bytes.map(estimated_tokens))
        .unwrap_or(REJECT_TOKENS);
    let limit = most;
    let rejection = match tool {
        "read_file" => Rejection::File { tokens, limit },
        "execute_shell" | "shell" => Rejection::Command { tokens },
        "grep_content" => Rejection::Search { tokens },
        "web_fetch" => Rejection::Page { tokens, limit },
        "glob_files" => Rejection::FileList { tokens, limit },
        _ => {
            let exceeded = exceeded(stats, limits, most);
            let stored = match ways {
                [] => String::new(),
                ways => format!(", or look into what was stored: {}", ways.join("; ")),
            };
            return format!(
                "Error: Tool output (~{tokens} tokens) exceeds maximum allowed {exceeded}. \
                 Please ask the tool for less{stored}."
            );
        }
    };
    format!("Error: {rejection}")
}

/// Formats the error with a recovery block for a stored result. The block's calls are the reader's
/// retrieval tools, because the parameters of the tool that made the result are unknown.
fn with_recovery(subject: &Subject<'_>) -> Result<String, RetrieveError> {
    let facts = subject.facts();
    let (tool, stats, ways) = (&facts.origin.tool, &facts.stats, &*subject.ways());
    let figures = [
        format!("{} lines", stats.lines),
        format!("{} chars ({})", grouped(stats.chars), stats.kind),
    ];
    let recovery = Recovery::new("Tool", tool, &figures)
        .structure(&Structure::of(&subject.outline()?, stats.kind), None);
    let recovery = ways.iter().cloned().fold(recovery, Recovery::command);
    let block = recovery.render(subject.half(), subject.counter());
    // The calls are shown only once: in the block, if it has room for them.
    let ways = match ways.iter().all(|way| block.contains(way)) {
        true => &[],
        false => ways,
    };
    let told = reject(tool, stats, subject.limits, ways);
    Ok(match block.is_empty() {
        true => told,
        false => format!("{told}\n\n{block}"),
    })
}

/// Names the limit that the result exceeds.
fn exceeded(stats: &Stats, limits: &Limits, most_tokens: u64) -> String {
    let over = |limit: Option<u64>, size: u64, unit: &str| {
        let limit = limit.filter(|&limit| size > limit)?;
        Some(format!("{unit} ({limit})"))
    };
    let is_over_tokens = estimated_tokens(stats.bytes) > most_tokens;
    let tokens = is_over_tokens.then(|| format!("tokens ({most_tokens})"));
    tokens
        .or_else(|| over(limits.bytes, stats.bytes, "bytes"))
        .or_else(|| over(limits.lines, stats.lines, "lines"))
        .or_else(|| over(limits.chars, stats.chars, "characters"))
        .unwrap_or_else(|| format!("tokens ({most_tokens})"))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_artifact::{ContentKind, Tokens};

    use super::*;
    use crate::limits::Rule;
    use crate::present::Profile;

    fn rejected(tool: &str, rule: &Rule) -> String {
        let stats = Stats {
            bytes: 200_000,
            lines: 900,
            chars: 200_000,
            tokens: Tokens::exact(7),
            kind: ContentKind::Text,
        };
        let rule = Rule {
            profile: Some(Profile::Reject),
            ..rule.clone()
        };
        reject(tool, &stats, &rule.resolve(), &["look()".to_owned()])
    }

    #[test]
    fn each_tool_has_its_own_way_out() {
        let tools = [
            "read_file",
            "execute_shell",
            "grep_content",
            "web_fetch",
            "glob_files",
            "list_issues",
        ];
        let all: Vec<String> = tools
            .iter()
            .map(|tool| rejected(tool, &Rule::default()))
            .collect();
        assert_snapshot!(all.join("\n"), @"
        Error: File content (~50000 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file, or use grep_content to search for specific content.
        Error: Command output (~50000 tokens) exceeds maximum allowed. Please pipe output through head/tail/grep, or redirect to a file and read specific portions.
        Error: Search returned ~50000 tokens of matches. Please use a more specific pattern or limit results with max_results parameter.
        Error: Page content (~50000 tokens) exceeds maximum allowed tokens (25000). Please use save_to parameter to save content to a file, then use grep_content to search it.
        Error: File list (~50000 tokens) exceeds maximum allowed tokens (25000). Please use a more specific pattern.
        Error: Tool output (~50000 tokens) exceeds maximum allowed tokens (25000). Please ask the tool for less, or look into what was stored: look().
        ");
        let lines = Rule {
            max_lines: Some(50),
            ..Rule::default()
        };
        assert_snapshot!(rejected("list_issues", &lines), @"Error: Tool output (~50000 tokens) exceeds maximum allowed tokens (25000). Please ask the tool for less, or look into what was stored: look().");
    }
}
