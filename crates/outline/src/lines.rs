//! Outlines that are a choice of lines: headings and definitions.

use std::sync::LazyLock;

use regex::Regex;

use super::Numbered;

/// Lines that are chosen at most.
const LINES: usize = 40;

static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^\s*(pub(\([a-z]+\))? |export |default |public |private |protected |static |async |abstract |final |unsafe |const )*",
        r"(fn|def|class|struct|enum|impl|trait|interface|func|function|type|module|namespace)\s+[\w<&]"
    ))
    .expect("the pattern is valid")
});

/// Markdown headings with their line numbers; those in code fences are none.
pub(super) fn headings(lines: &[Numbered]) -> Vec<String> {
    let mut fenced = false;
    let is_heading = |line: &str| {
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
        }
        let level = line.chars().take_while(|&c| c == '#').count();
        !fenced && (1..=6).contains(&level) && line[level..].starts_with(' ')
    };
    chosen(lines, is_heading)
}

/// Definitions with their line numbers.
pub(super) fn definitions(lines: &[Numbered]) -> Vec<String> {
    chosen(lines, |line| DEFINITION.is_match(line))
}

fn chosen(lines: &[Numbered], mut is_chosen: impl FnMut(&str) -> bool) -> Vec<String> {
    lines
        .iter()
        .filter(|(_, line)| is_chosen(line))
        .take(LINES)
        .map(|(number, line)| format!("{number}: {}", line.trim_end_matches(" {")))
        .collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn headings_but_not_comments_in_fences() {
        let text = "# Title\ntext\n## Part\n```sh\n# comment\n```\n### Last\n#hash\n";
        assert_snapshot!(headings(&crate::numbered(text)).join("\n"), @"
        1: # Title
        3: ## Part
        7: ### Last
        ");
    }

    #[test]
    fn definitions_of_several_languages() {
        let text = "use x;\npub(crate) fn f() {\n    let y = 1;\n}\nclass A:\n    def m(self):\n        pass\nexport function g() {}\n";
        assert_snapshot!(definitions(&crate::numbered(text)).join("\n"), @"
        2: pub(crate) fn f()
        5: class A:
        6:     def m(self):
        8: export function g() {}
        ");
    }
}
