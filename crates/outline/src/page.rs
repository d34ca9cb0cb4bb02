//! Outlines the snapshots of web pages that browser tools print: trees of elements with roles.
//!
//! Playwright prints `- button "Save" [ref=e12]`, `chrome-devtools-mcp` prints
//! `uid=1_2 button "Save"`. The outline shows the elements that a user can act on, with their
//! references, tables with the names of their columns, headings and alerts.

use std::io;

use rustc_hash::FxHashMap;
use spillgate_text::View;

use crate::log::signature;
use crate::parts::{SamplePlan, counted, grouped, lines};
use crate::{EntryKind, OutlineEntry, located, note};

/// Number of bytes at the start of a text that show whether it is a snapshot.
const HEAD: usize = 32 << 10;
/// Maximum number of lines before the first element.
const BEFORE: usize = 60;
/// Maximum number of lines, from the first element on, that are examined for this.
const JUDGED: usize = 200;
/// Minimum number of elements in a snapshot.
const FEWEST: usize = 3;
/// Maximum number of bytes of a line that are read.
const LONGEST: usize = 400;
/// Maximum number of elements that are shown.
const MOST: usize = 300;
/// Maximum number of tables and lists that are distinguished.
const GROUPS: usize = 100;
/// Maximum number of column names that are kept of a table.
const COLUMNS: usize = 16;
/// Minimum number of items for which a list is shown.
const LONG_LIST: u64 = 8;
/// Maximum number of roles whose elements are counted in the first line.
const ROLES: usize = 8;

/// Roles that Playwright prints. An element with a reference may have any other role.
const KNOWN: [&[u8]; 38] = [
    b"alert",
    b"article",
    b"banner",
    b"button",
    b"cell",
    b"checkbox",
    b"columnheader",
    b"combobox",
    b"complementary",
    b"contentinfo",
    b"dialog",
    b"document",
    b"figure",
    b"form",
    b"generic",
    b"grid",
    b"gridcell",
    b"group",
    b"heading",
    b"iframe",
    b"img",
    b"link",
    b"list",
    b"listitem",
    b"main",
    b"menuitem",
    b"navigation",
    b"option",
    b"paragraph",
    b"radio",
    b"region",
    b"row",
    b"rowgroup",
    b"search",
    b"tab",
    b"table",
    b"text",
    b"textbox",
];

/// Returns the role and the name of the element in a line.
fn element(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    let (line, has_id) = if let Some(line) = line.strip_prefix(b"- ") {
        (line.strip_prefix(b"'").unwrap_or(line), false)
    } else {
        let line = line.strip_prefix(b"uid=")?;
        (&line[memchr::memchr(b' ', line)? + 1..], true)
    };
    let length = line.iter().take_while(|byte| byte.is_ascii_alphabetic());
    let (role, rest) = line.split_at(length.count());
    let (name, rest) = match rest.strip_prefix(b" \"") {
        Some(rest) => rest.split_at(end_of_name(rest)),
        None => (&rest[..0], rest),
    };
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
    let is_element = if has_id {
        rest.is_empty() || rest.starts_with(b" ")
    } else {
        // In a list of prose, other words follow the first one.
        let has_reference = || memchr::memmem::find(rest, b"[ref=").is_some();
        (rest.is_empty() || rest.starts_with(b":") || rest.starts_with(b" ["))
            && (KNOWN.contains(&role) || has_reference())
    };
    (is_element && !role.is_empty()).then_some((role, name))
}

/// Returns the end of a quoted name. A quote inside the name has a backslash before it.
fn end_of_name(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = text.iter().position(|&byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// The purpose of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    Alert,
    Heading,
    Input,
    Button,
    Link,
    Landmark,
}

impl Use {
    fn of(role: &[u8]) -> Option<Self> {
        Some(match role {
            b"alert" | b"alertdialog" | b"dialog" | b"status" => Self::Alert,
            b"heading" => Self::Heading,
            b"textbox" | b"searchbox" | b"combobox" | b"checkbox" | b"radio" | b"switch"
            | b"slider" | b"spinbutton" | b"listbox" => Self::Input,
            b"button" | b"menuitem" | b"menuitemcheckbox" | b"menuitemradio" | b"tab" => {
                Self::Button
            }
            b"link" => Self::Link,
            b"banner" | b"complementary" | b"contentinfo" | b"form" | b"main" | b"navigation"
            | b"region" | b"search" | b"iframe" | b"Iframe" => Self::Landmark,
            _ => return None,
        })
    }

    /// Returns the rank of the first element with this purpose. The rank of each further one is
    /// greater by 1.
    fn rank(self) -> usize {
        match self {
            Self::Alert => 2,
            Self::Heading | Self::Input => 3,
            Self::Button => 5,
            Self::Link => 8,
            Self::Landmark => 12,
        }
    }
}

/// Returns the outline of a snapshot of a page; no entries for other texts.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD as u64)?;
    if !is_snapshot(&head, view.bytes() <= HEAD as u64) {
        return Ok(Vec::new());
    }
    let mut page = Page::default();
    plan.each_line(view.source(), |line, offset| {
        page.line(line[..line.len().min(LONGEST)].trim_ascii_end(), offset);
    })?;
    page.render(view, plan)
}

/// Returns whether a text is the snapshot of a page. The beginning of the text is enough.
#[must_use]
pub fn is_page(text: &[u8]) -> bool {
    let head = &text[..text.len().min(HEAD)];
    is_snapshot(head, text.len() < HEAD)
}

/// Returns whether nine lines in ten are elements, from the first one on.
fn is_snapshot(head: &[u8], is_whole: bool) -> bool {
    let is_element =
        |line: &&[u8]| element(&line[..line.len().min(LONGEST)]).is_some() || is_property(line);
    let mut judged = lines(head).map(|(_, line)| line.trim_ascii_end());
    let first = judged
        .by_ref()
        .take(BEFORE)
        .find(|line| element(line).is_some() && !line.starts_with(b"- text"));
    if first.is_none() {
        return false;
    }
    let judged = judged.filter(|line| !line.is_empty() && !line.starts_with(b"```"));
    let mut judged: Vec<&[u8]> = judged.take(JUDGED).collect();
    if !is_whole && judged.len() < JUDGED {
        judged.pop(); // the head may cut it off
    }
    let elements = 1 + judged.iter().filter(|line| is_element(line)).count();
    elements >= FEWEST && elements * 10 >= judged.len() * 9
}

/// Returns whether a line is a property of the element above it, such as `- /url: /next`.
fn is_property(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"- /")
}

/// A table or a list.
struct Group {
    offset: u64,
    indent: usize,
    /// Number of rows of a table, or of items of a list.
    count: u64,
    names: Vec<String>,
    /// The cells of the first row, and whether it has ended.
    first: (Vec<String>, bool),
    is_table: bool,
    text: String,
}

/// Elements that differ only in numbers.
struct Alike {
    offset: u64,
    purpose: Use,
    count: u64,
    text: String,
}

#[derive(Default)]
struct Page {
    title: Option<String>,
    address: Option<String>,
    roles: FxHashMap<Vec<u8>, u64>,
    alike: Vec<Alike>,
    known: FxHashMap<(Use, u64), usize>,
    groups: Vec<Group>,
    /// Indices of the open groups.
    open: Vec<usize>,
}

impl Page {
    fn line(&mut self, line: &[u8], offset: u64) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if self.title.is_none()
            && let Some(title) = line.strip_prefix(b"- Page Title: ")
        {
            self.title = Some(text(title));
        }
        if self.address.is_none()
            && let Some(address) = line.strip_prefix(b"- Page URL: ")
        {
            self.address = Some(text(address));
        }
        let Some((role, name)) = element(line) else {
            return;
        };
        match self.roles.get_mut(role) {
            Some(count) => *count += 1,
            None => {
                self.roles.insert(role.to_vec(), 1);
            }
        }
        if role == b"RootWebArea" && self.title.is_none() {
            self.title = Some(text(name));
        }
        let indent = line.iter().take_while(|&&byte| byte == b' ').count();
        self.group(role, indent, name, (line, offset));
        if let Some(purpose) = Use::of(role) {
            self.element(purpose, line, offset);
        }
    }

    fn group(&mut self, role: &[u8], indent: usize, name: &[u8], (line, offset): (&[u8], u64)) {
        let groups = &self.groups;
        while self
            .open
            .last()
            .is_some_and(|&at| groups[at].indent >= indent)
        {
            self.open.pop();
        }
        let is_table = [&b"table"[..], b"grid", b"treegrid"].contains(&role);
        if (is_table || role == b"list") && self.groups.len() < GROUPS {
            self.open.push(self.groups.len());
            self.groups.push(Group {
                offset,
                indent,
                count: 0,
                names: Vec::new(),
                first: (Vec::new(), false),
                is_table,
                text: shown(line),
            });
            return;
        }
        let Some(group) = self.open.last().map(|&at| &mut self.groups[at]) else {
            return;
        };
        let (first, is_over) = &mut group.first;
        let into = match (group.is_table, role) {
            (true, b"row") | (false, b"listitem") => {
                group.count += 1;
                *is_over |= !first.is_empty();
                return;
            }
            (true, b"columnheader") => &mut group.names,
            (true, b"cell" | b"gridcell" | b"rowheader") if !*is_over => first,
            _ => return,
        };
        if into.len() < COLUMNS && !name.is_empty() {
            into.push(String::from_utf8_lossy(name).into_owned());
        }
    }

    fn element(&mut self, purpose: Use, line: &[u8], offset: u64) {
        let text = shown(line);
        // Every element has its own reference, so only the name is compared.
        let named = text.find(['"', ':']).map_or(&*text, |at| &text[at..]);
        let named = named.split(" [ref=").next().unwrap_or(named);
        let signature = match purpose {
            Use::Landmark | Use::Alert => offset,
            _ => signature(named.as_bytes()),
        };
        match self.known.get(&(purpose, signature)) {
            Some(&at) => self.alike[at].count += 1,
            None if self.alike.len() < MOST => {
                self.known.insert((purpose, signature), self.alike.len());
                self.alike.push(Alike {
                    offset,
                    purpose,
                    count: 1,
                    text,
                });
            }
            None => {}
        }
    }

    fn render(self, view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
        let mut roles: Vec<(&Vec<u8>, &u64)> = self.roles.iter().collect();
        roles.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let roles = roles.iter().take(ROLES);
        let roles: Vec<String> = roles
            .map(|(role, count)| {
                let role = String::from_utf8_lossy(role);
                format!("{role} {}", plan.scaled(**count))
            })
            .collect();
        let title = self.title.map(|title| format!(" {title:?}"));
        let address = self.address.map(|address| format!(" {address}"));
        let mut shown = vec![
            note(format!(
                "a page{}{}",
                title.unwrap_or_default(),
                address.unwrap_or_default()
            )),
            OutlineEntry::new(
                1,
                0,
                EntryKind::Remark,
                format!("elements: {}", roles.join(", ")),
            ),
        ];
        let mut places: Vec<(u64, usize, String)> = Vec::new();
        let groups = self
            .groups
            .into_iter()
            .filter(|group| group.is_table || group.count >= LONG_LIST);
        for (at, group) in groups.enumerate() {
            let rank = if group.is_table { 2 + at } else { 4 + at };
            places.push((group.offset, rank, group.described()));
        }
        let mut ranks: FxHashMap<Use, usize> = FxHashMap::default();
        for element in self.alike {
            let rank = ranks
                .entry(element.purpose)
                .or_insert(element.purpose.rank());
            let more = match element.count {
                1 => String::new(),
                count => format!(" ({} like it)", grouped(count)),
            };
            places.push((element.offset, *rank, element.text + &more));
            *rank += 1;
        }
        places.sort_by_key(|&(offset, ..)| offset);
        for (offset, rank, text) in places {
            shown.push(located(view, offset, (rank, 0), text)?);
        }
        Ok(shown)
    }
}

impl Group {
    fn described(&self) -> String {
        let count = grouped(self.count);
        if !self.is_table {
            return format!("{}: {}", self.text, counted(&count, "item"));
        }
        let mut text = format!("{}: {}", self.text, counted(&count, "row"));
        for (what, names) in [("columns", &self.names), ("first", &self.first.0)] {
            if !names.is_empty() {
                text.push_str(&format!("; {what}: {}", names.join(", ")));
            }
        }
        text
    }
}

/// Returns the line of an element without the `- ` before it, the colon after it and the mark
/// `[cursor=pointer]`.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    let text = text.strip_prefix("- ").unwrap_or(text);
    text.trim_end_matches(':').replace(" [cursor=pointer]", "")
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
    fn elements_with_their_references() {
        let rows: String = (1..=200)
            .map(|i| {
                format!(
                    "        - row [ref=e{0}]:\n          - cell \"INV-{i:05}\" [ref=e{1}]\n          - cell [ref=e{2}]:\n            - button \"Pay INV-{i:05}\" [ref=e{3}]: Pay\n",
                    i * 4,
                    i * 4 + 1,
                    i * 4 + 2,
                    i * 4 + 3
                )
            })
            .collect();
        let text = format!(
            "### Page\n- Page URL: http://127.0.0.1/orders\n- Page Title: Orders\n### Snapshot\n```yaml\n\
- generic [active] [ref=e1]:\n  - banner [ref=e2]:\n    - link \"Home\" [ref=e3] [cursor=pointer]:\n      - /url: /\n  - main [ref=e4]:\n    - heading \"Orders\" [level=1] [ref=e5]\n    - searchbox \"Search\" [ref=e6]\n    - alert [ref=e7]: 2 invoices are overdue\n    - table [ref=e8]:\n      - rowgroup [ref=e9]:\n        - row [ref=e10]:\n          - columnheader \"Invoice\" [ref=e11]\n          - columnheader \"Action\" [ref=e12]\n      - rowgroup [ref=e13]:\n{rows}```\n"
        );
        assert_snapshot!(shown(&text), @r#"
        a page "Orders" http://127.0.0.1/orders
        elements: cell 400, row 201, button 200, columnheader 2, rowgroup 2, alert 1, banner 1, generic 1
        7: banner [ref=e2]
        8: link "Home" [ref=e3]
        10: main [ref=e4]
        11: heading "Orders" [level=1] [ref=e5]
        12: searchbox "Search" [ref=e6]
        13: alert [ref=e7]: 2 invoices are overdue
        14: table [ref=e8]: 201 rows; columns: Invoice, Action; first: INV-00001
        23: button "Pay INV-00001" [ref=e7]: Pay (200 like it)
        "#);
        let list: String = (0..9)
            .map(|i| {
                format!(
                    "    uid=1_{0} listitem\n      uid=1_{1} StaticText \"item {i}\"\n",
                    10 + i * 2,
                    11 + i * 2
                )
            })
            .collect();
        let text = format!(
            "# take_snapshot response\n## Latest page snapshot\nuid=1_0 RootWebArea \"Orders\" url=\"http://127.0.0.1/\"\n  uid=1_1 heading \"Orders\" level=\"1\"\n  uid=1_2 button \"Save\" disableable disabled\n  uid=1_3 textbox \"Name\" value=\"x\"\n  uid=1_4 list\n{list}"
        );
        assert_snapshot!(shown(&text), @r#"
        a page "Orders"
        elements: StaticText 9, listitem 9, RootWebArea 1, button 1, heading 1, list 1, textbox 1
        4: uid=1_1 heading "Orders" level="1"
        5: uid=1_2 button "Save" disableable disabled
        6: uid=1_3 textbox "Name" value="x"
        7: uid=1_4 list: 9 items
        "#);
        assert_snapshot!(shown("- banner [ref=e2]:\n  - link \"Home\" [ref=e3]\n- main:\n  - heading \"Orders\" [level=1]\n  - list:\n    - listitem: one\n    - listitem: two\n"), @r#"
        a page
        elements: listitem 2, banner 1, heading 1, link 1, list 1, main 1
        1: banner [ref=e2]
        2: link "Home" [ref=e3]
        3: main
        4: heading "Orders" [level=1]
        "#);
        for none in [
            "- one\n- two\n- three\n",
            "- text\n- text\n- text\n- text\n",
            "- link to it\n- list all\n- main street\n",
            "# Notes\n\n- table [1]: a\n\nWords follow here.\nAnd here.\nAnd here.\n",
            "",
        ] {
            assert_eq!(shown(none), "", "{none}");
        }
    }
}
