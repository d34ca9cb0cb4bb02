//! Outlines trees drawn with lines, such as the output of `tree`, `cargo tree` and `npm ls`.

use std::io;

use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped, lines};
use crate::{OutlineEntry, located, note};

/// Number of bytes at the start of a text that show whether it is a tree.
const HEAD: u64 = 16 << 10;
/// Maximum number of lines at the start that are examined for this.
const JUDGED: usize = 200;
/// Minimum number of lines of a tree.
const FEWEST: usize = 8;
/// Maximum number of bytes of a line that are read.
const LONGEST: usize = 400;
/// Maximum number of nodes of the first two levels that are kept.
const KEPT: usize = 2000;
/// Maximum number of nodes that are shown.
const SHOWN: usize = 150;
/// The strokes before a name. Blanks separate the last stroke from the name.
const STROKES: [&str; 12] = [
    "├", "└", "│", "─", "┬", "┌", "╰", "|--", "`--", "+--", "\\--", "|",
];

/// Returns the column where the name of a node begins, in characters, and the name; `None` for a
/// line without strokes.
fn node(line: &[u8]) -> Option<(usize, &str)> {
    let line = line[..line.len().min(LONGEST)].trim_ascii_end();
    let line = match std::str::from_utf8(line) {
        Ok(line) => line,
        Err(error) => std::str::from_utf8(&line[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut name = line;
    let mut has_stroke = false;
    loop {
        name = name.trim_start_matches([' ', '\u{a0}']);
        match STROKES.iter().find_map(|stroke| name.strip_prefix(stroke)) {
            Some(rest) => (name, has_stroke) = (rest, true),
            None => break,
        }
    }
    let column = line.chars().count() - name.chars().count();
    (has_stroke && !name.is_empty()).then_some((column, name))
}

/// A node of the first two levels.
struct Node {
    offset: u64,
    depth: usize,
    name: String,
    /// Number of nodes below this one.
    below: u64,
}

/// Returns the nodes of the first two levels, each with the number of nodes below it; no entries
/// for other texts.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD)?;
    let judged = lines(&head).map(|(_, line)| line);
    let judged = judged.filter(|line| !line.trim_ascii().is_empty());
    let judged: Vec<&[u8]> = judged.take(JUDGED).collect();
    let drawn = judged.iter().filter(|line| node(line).is_some()).count();
    if judged.len() < FEWEST || drawn * 10 < judged.len() * 7 {
        return Ok(Vec::new());
    }
    let mut kept: Vec<Node> = Vec::new();
    // The nodes that may be parents of the next line: the column, and the index of a kept node.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let (mut all, mut deepest) = (0u64, 0);
    plan.each_line(view.source(), |line, offset| {
        let Some((column, name)) = node(line) else {
            open.clear(); // the next tree begins
            return;
        };
        while open.last().is_some_and(|&(above, _)| above >= column) {
            open.pop();
        }
        for node in open.iter().filter_map(|&(_, node)| node) {
            kept[node].below += 1;
        }
        let depth = open.len();
        let is_kept = depth < 2 && kept.len() < KEPT;
        open.push((column, is_kept.then_some(kept.len())));
        if is_kept {
            let name = name.to_owned();
            kept.push(Node {
                offset,
                depth,
                name,
                below: 0,
            });
        }
        all += 1;
        deepest = deepest.max(depth + 1);
    })?;
    let nodes = counted(&plan.scaled(all), "node");
    let mut shown = vec![note(format!("a tree of {nodes} on {deepest} levels"))];
    // Within a level, nodes that have more nodes below them come first.
    let mut ranked: Vec<usize> = (0..kept.len()).collect();
    ranked.sort_by_key(|&at| (kept[at].depth, u64::MAX - kept[at].below, at));
    ranked.truncate(SHOWN);
    let mut ranked: Vec<(usize, usize)> = ranked.into_iter().enumerate().collect();
    ranked.sort_by_key(|&(_, at)| at);
    for (rank, at) in ranked {
        let one = &kept[at];
        let below = match one.below {
            0 => String::new(),
            below => format!(" ({} below)", grouped(below)),
        };
        let text = format!("{}{below}", one.name);
        shown.push(located(view, one.offset, (1 + rank, one.depth), text)?);
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::shown_by;

    #[test]
    fn trees() {
        let cargo = "app v0.1.0\n├── async-trait v0.1.92\n│   ├── proc-macro2 v1.0\n│   │   └── unicode-ident v1.0\n\
                     │   └── syn v3.0\n├── bytesize v2.7\n└── tracing v0.3\n    ├── log v0.4\n    └── serde v1.0\n";
        assert_snapshot!(shown_by(outline, cargo), @"
        a tree of 8 nodes on 3 levels
        2: async-trait v0.1.92 (3 below)
          3: proc-macro2 v1.0 (1 below)
          5: syn v3.0
        6: bytesize v2.7
        7: tracing v0.3 (2 below)
          8: log v0.4
          9: serde v1.0
        ");
        let npm = "lib@1.0.0 /srv/lib\n├─┬ a@1.0.0\n│ ├── b@2.0.0\n│ └─┬ c@3.0.0\n│   └── d@1.0.0\n├── e@1.0.0\n\
                   └─┬ f@1.0.0\n  └── b@2.0.0 deduped\n";
        assert_snapshot!(shown_by(outline, npm), @"
        a tree of 7 nodes on 3 levels
        2: a@1.0.0 (3 below)
          3: b@2.0.0
          4: c@3.0.0 (1 below)
        6: e@1.0.0
        7: f@1.0.0 (1 below)
          8: b@2.0.0 deduped
        ");
        let ascii = ".\n|-- src\n|   |-- a.rs\n|   `-- b.rs\n|-- docs\n|   `-- c.md\n`-- README.md\n\n2 directories, 4 files\n";
        assert_snapshot!(shown_by(outline, ascii), @"
        a tree of 6 nodes on 2 levels
        2: src (2 below)
          3: a.rs
          4: b.rs
        5: docs (1 below)
          6: c.md
        7: README.md
        ");
        for none in [
            &"a | b | c\n".repeat(12),
            &"| a | b |\n".repeat(4),
            &"- a\n  - b\n".repeat(8),
        ] {
            assert_eq!(shown_by(outline, none), "", "{none}");
        }
    }
}
