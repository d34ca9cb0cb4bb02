//! Outlines texts that have no kind of their own but a regular layout.
//!
//! Such texts are tables with semicolons or bars between their fields, tables with tabs but without
//! names of columns, matches of `grep -n`, YAML,
//! and configuration files with sections (INI, TOML).

use std::io;
use std::sync::LazyLock;

use regex::bytes::Regex;
use rustc_hash::FxHashMap;
use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped, lines};
use crate::table::{self, Table};
use crate::{OutlineEntry, located, note};

/// Number of bytes at the start of a text in which its layout is detected.
const HEAD: u64 = 16 << 10;
/// Maximum number of lines in which the layout is detected.
const JUDGED: usize = 200;
/// Maximum number of files, keys or sections that are shown.
const MOST: usize = 200;
/// Maximum number of bytes of a line that are examined.
const LONGEST: usize = 400;

fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("the patterns of this file are valid")
}

static MATCH: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u)^([^\s:][^:]*?)[:-]\d+[:-]"));
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?-u)^( *)((?:[\w./$@-]+(?: [\w./-]+)?|"[^"]*"|'[^']*')):(?: +(.*))?$"#)
});
/// The title of a section.
static SECTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?-u)^\[\[?([\w.:"'/@ *(),=-]{1,120})\]\]?\s*(?:[#;].*)?$"#));
/// A setting in a section, or a further line of a setting on several lines.
static SETTING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?-u)^[\w."'/@-][^=;{}()]{0,120}=|^[\s\]})]"#));
static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u)^( *)-(?: +\S.*)?$"));
/// Returns the outline for the first layout that nine lines in ten have; no entries if there is no
/// such layout.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD)?;
    let judged = lines(&head).map(|(_, line)| line.trim_ascii_end());
    let judged = judged.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    let mut judged: Vec<&[u8]> = judged.take(JUDGED).collect();
    if head.len() as u64 == HEAD && judged.len() < JUDGED {
        judged.pop(); // the head may cut it off
    }
    let most = |is: &dyn Fn(&&&[u8]) -> bool| {
        judged.len() >= 3 && judged.iter().filter(is).count() * 10 >= judged.len() * 9
    };
    for delimiter in [b';', b'|'] {
        let fields = |line: &[u8]| memchr::memchr_iter(delimiter, line).count();
        let width = judged.first().map_or(0, |header| fields(header));
        let is_header = |line: &[u8]| !line.ends_with(&[delimiter]) && !line.contains(&b'(');
        if width > 0 && is_header(judged[0]) && most(&|line| fields(line) == width) {
            let plan = SamplePlan::first(view.source(), 0)?;
            return table::outline(view.source(), &plan, delimiter);
        }
    }
    let tabs = |line: &[u8]| memchr::memchr_iter(b'\t', line).count();
    let width = judged.first().map_or(0, |first| tabs(first));
    if width > 0 && most(&|line| tabs(line) == width) {
        return unnamed(view, width + 1);
    }
    if most(&|line| MATCH.is_match(line)) {
        return matches(view, plan);
    }
    let sections = judged.iter().filter(|line| SECTION.is_match(line)).count();
    if sections >= 2 && most(&|line| SECTION.is_match(line) || SETTING.is_match(line)) {
        return self::sections(view, plan);
    }
    let keys = judged.iter().filter(|line| KEY.is_match(unlisted(line)));
    if keys.count() * 2 >= judged.len()
        && most(&|line| KEY.is_match(line) || ITEM.is_match(line) || line.starts_with(b" "))
    {
        return yaml(view, plan);
    }
    Ok(Vec::new())
}

/// Returns the columns of a table with tabs whose first line names no columns.
fn unnamed(view: &View, columns: usize) -> io::Result<Vec<OutlineEntry>> {
    let plan = SamplePlan::first(view.source(), 0)?;
    let names: Vec<String> = (1..=columns).map(|at| format!("column {at}")).collect();
    let mut table = Table::with_names(names.iter().map(String::as_str));
    plan.each_line(view.source(), |line, offset| {
        table.add_row(line.trim_ascii_end().split(|byte| *byte == b'\t'), offset);
    })?;
    Ok(table.render(&plan))
}

/// Returns the line without the dash of a list item.
fn unlisted(line: &[u8]) -> &[u8] {
    let bare = line.trim_ascii_start();
    bare.strip_prefix(b"- ").unwrap_or(line)
}

/// Returns the files, each with the number of its matching lines.
fn matches(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut known: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
    let mut files: Vec<(u64, Vec<u8>, u64)> = Vec::new();
    let (mut all, mut others) = (0u64, 0u64);
    plan.each_line(view.source(), |line, offset| {
        let found = MATCH.captures(&line[..line.len().min(LONGEST)]);
        let Some(name) = found.and_then(|found| found.get(1)) else {
            return;
        };
        all += 1;
        if let Some(&at) = known.get(name.as_bytes()) {
            files[at].2 += 1;
        } else if files.len() < MOST {
            known.insert(name.as_bytes().to_vec(), files.len());
            files.push((offset, name.as_bytes().to_vec(), 1));
        } else {
            others += 1;
        }
    })?;
    let many = if others > 0 { "more than " } else { "" };
    let told = counted(&grouped(files.len() as u64), "file");
    let all = plan.scaled(all);
    let mut shown = vec![note(format!("{all} matching lines in {many}{told}"))];
    for (at, (offset, name, count)) in files.into_iter().enumerate() {
        let text = format!("{}: {}", String::from_utf8_lossy(&name), grouped(count));
        shown.push(located(view, offset, (1 + at, 0), text)?);
    }
    Ok(shown)
}

/// Returns the sections of a configuration file with their line numbers.
fn sections(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut sections: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut all = 0u64;
    plan.each_line(view.source(), |line, offset| {
        let line = line.trim_ascii_end();
        if SECTION.is_match(line) {
            all += 1;
            if sections.len() < MOST {
                sections.push((offset, line.to_vec()));
            }
        }
    })?;
    let mut shown = vec![note(counted(&plan.scaled(all), "section"))];
    for (at, (offset, title)) in sections.into_iter().enumerate() {
        let title = String::from_utf8_lossy(&title).into_owned();
        shown.push(located(view, offset, (1 + at, 0), title)?);
    }
    Ok(shown)
}

/// A key of the first or second level.
struct Key {
    offset: u64,
    depth: usize,
    text: String,
    items: u64,
}

/// Returns the keys of the first two levels with their line numbers, and the lengths of lists.
fn yaml(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut keys: Vec<Key> = Vec::new();
    let mut top = 0u64;
    // For each open indentation: whether it belongs to a list item, and the index of its key if
    // the key is shown.
    let mut open: Vec<(usize, bool, Option<usize>)> = Vec::new();
    let mut block = None;
    plan.each_line(view.source(), |line, offset| {
        let line = line[..line.len().min(LONGEST)].trim_ascii_end();
        let indent = line.iter().take_while(|&&byte| byte == b' ').count();
        if line.is_empty() || block.is_some_and(|block| indent > block) {
            return;
        }
        block = None;
        if line.ends_with(b"|") || line.ends_with(b">") || line.ends_with(b"|-") {
            block = Some(indent);
        }
        if ITEM.is_match(line) && line != b"---" {
            let is_below =
                |&(at, is_item, _): &(usize, bool, _)| at > indent || (at == indent && is_item);
            while open.last().is_some_and(is_below) {
                open.pop();
            }
            match open.last() {
                Some(&(_, false, Some(key))) => keys[key].items += 1,
                Some(_) => {}
                None => top += 1,
            }
            open.push((indent, true, None));
        } else if let Some(name) = KEY.captures(line).and_then(|found| found.get(2)) {
            while open.last().is_some_and(|&(at, ..)| at >= indent) {
                open.pop();
            }
            let depth = open.len();
            let is_shown = depth < 2 && open.iter().all(|&(_, is_item, _)| !is_item);
            let key = (is_shown && keys.len() < MOST).then_some(keys.len());
            open.push((indent, false, key));
            if key.is_some() {
                let text = String::from_utf8_lossy(name.as_bytes()).into_owned();
                keys.push(Key {
                    offset,
                    depth,
                    text,
                    items: 0,
                });
            }
        }
    })?;
    outlined(view, plan, top, keys)
}

/// Returns the entries of the keys. If the text is a list, its length precedes them.
fn outlined(
    view: &View,
    plan: &SamplePlan,
    top: u64,
    keys: Vec<Key>,
) -> io::Result<Vec<OutlineEntry>> {
    let mut shown = Vec::new();
    if top > 0 {
        let items = counted(&plan.scaled(top), "item");
        shown.push(note(format!("a list of {items}")));
    }
    for key in keys {
        let items = match key.items {
            0 => String::new(),
            n => format!(" ({})", counted(&grouped(n), "item")),
        };
        let text = format!("{}{items}", key.text);
        shown.push(located(view, key.offset, (key.depth, key.depth), text)?);
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::tests::shown_by;

    fn shown(text: &str) -> String {
        shown_by(outline, text)
    }

    #[test]
    fn shapes() {
        assert_snapshot!(shown("id;name;city\n1;a;Rome\n2;b;Oslo\n"), @"
        2 rows, 3 columns
        id: integer: 1, 2
        name: text: a, b
        city: text: Rome, Oslo
        ");
        assert_snapshot!(shown("12\t0\tsrc/a.rs\n3\t41\tsrc/b.rs\n7\t7\t\n"), @"
        ");
        assert_snapshot!(shown("src/a.rs:3:fn a() {\nsrc/a.rs:9:fn b() {\nsrc/b.rs:1:fn c() {\n"), @"
        3 matching lines in 2 files
        1: src/a.rs: 2
        3: src/b.rs: 1
        ");
        assert_snapshot!(shown("name: x\non:\n  push:\n    branches: [a]\n  pull: {}\njobs:\n  build:\n    steps:\n      - run: |\n          a: b\n      - run: c\nlist:\n- a: 1\n  b: 2\n- a: 3\n"), @"
        1: name
        2: on
          3: push
          5: pull
        6: jobs
          7: build
        12: list (2 items)
        ");
        assert_snapshot!(shown("[package]\nname = \"a\"\nkeywords = [\n  \"x\",\n]\n\n[[bin]]\nname = \"b\"\n[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n[dependencies]\nc = \"1\"\n"), @"
        4 sections
        1: [package]
        7: [[bin]]
        9: [target.'cfg(unix)'.dependencies]
        11: [dependencies]
        ");
        for none in [
            "[a]\nSome text.\n[b]\nOther text.\n",
            "- one\n- two\n- three\n",
            "a = 1;\nb = 2;\nc = 3;\n",
            "Dear all,\nhow are you?\nI am: well\n",
            "x: 1\n",
        ] {
            assert_eq!(shown(none), "", "{none}");
        }
    }
}
