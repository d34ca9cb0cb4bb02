//! Outlines tables that programs draw for people: columns under a header, or cells between bars.
//!
//! [`aligned`] reads the output of `ps`, `df`, `kubectl get` and `dpkg -l`. [`barred`] reads the
//! output of database clients, and tables in Markdown. Both summarise their rows like CSV.

mod aligned;
mod barred;

use std::io;

use spillgate_text::View;

use crate::parts::{SamplePlan, counted, grouped, lines};
use crate::table::Table;
use crate::{EntryKind, OutlineEntry, located, note};
pub(crate) use barred::{Reader as BarReader, TableFound};

/// Number of bytes at the start of a text that show whether it is a table.
const HEAD: u64 = 32 << 10;
/// Maximum number of lines at the start that are examined for this.
const JUDGED: usize = 200;
/// Minimum number of rows of a table without a drawn line below its header.
const FEWEST: usize = 3;
/// Maximum number of bytes of a line that are read. Rows end with commands and paths, whose ends
/// say little.
const LONGEST: usize = 2000;
/// Maximum number of lines outside of the tables that are shown.
const OTHERS: usize = 4;
/// Rank of the line that introduces these lines: after the first columns.
const BESIDE: usize = 8;
/// Maximum number of column names in the line of a table, if there are several tables.
const NAMES: usize = 12;

/// Returns the outline of a text that is one table, or mostly tables; no entries for other texts.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let head = view.source().bytes(0, HEAD)?;
    let mut judged: Vec<(u64, &[u8])> = lines(&head)
        .take(JUDGED)
        .map(|(at, line)| (at as u64, shortened(line)))
        .collect();
    if head.len() as u64 == HEAD && judged.len() < JUDGED {
        judged.pop(); // the head may cut it off
    }
    let has = |stroke: &str| memchr::memmem::find(&head, stroke.as_bytes()).is_some();
    if (has("--") || has("──")) && barred::is_most(&judged) {
        return barred(view, plan);
    }
    match aligned::Columns::of(&judged) {
        Some(columns) => aligned(view, plan, &columns),
        None => Ok(Vec::new()),
    }
}

/// Returns the part of a line that is read.
fn shortened(line: &[u8]) -> &[u8] {
    line[..line.len().min(LONGEST)].trim_ascii_end()
}

/// The lines outside of the tables.
#[derive(Default)]
struct Others {
    count: u64,
    first: Vec<(u64, String)>,
}

impl Others {
    fn add(&mut self, line: &[u8], offset: u64) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.count += 1;
        if self.first.len() < OTHERS {
            let text = String::from_utf8_lossy(line).trim().to_owned();
            self.first.push((offset, text));
        }
    }

    /// Appends the lines to an outline. They may be error messages about the table.
    fn append(self, view: &View, shown: &mut Vec<OutlineEntry>) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let text = format!("{} beside the rows", counted(&grouped(self.count), "line"));
        shown.push(OutlineEntry::new(BESIDE, 0, EntryKind::Place, text));
        for (rank, (offset, text)) in self.first.into_iter().enumerate() {
            shown.push(located(view, offset, (BESIDE + 1 + rank, 1), text)?);
        }
        Ok(())
    }
}

fn aligned(
    view: &View,
    plan: &SamplePlan,
    columns: &aligned::Columns,
) -> io::Result<Vec<OutlineEntry>> {
    let mut table = Table::with_names(columns.names());
    let mut others = Others::default();
    plan.each_line(view.source(), |line, offset| {
        let line = shortened(line);
        if offset == columns.header || columns.is_frame(line) {
            return;
        }
        match columns.cells(line) {
            Some(cells) => table.add_row(cells, offset),
            // The lines above the table are shown by the preview, as the head of the text.
            None if offset > columns.header => others.add(line, offset),
            None => {}
        }
    })?;
    // The head was a table, but most of the text is not.
    if others.count > table.rows() / 4 + 8 {
        return Ok(Vec::new());
    }
    let mut shown = table.render(plan);
    others.append(view, &mut shown)?;
    at_line(view, columns.header, &mut shown)?;
    Ok(shown)
}

fn barred(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut reader = BarReader::default();
    let mut others = Others::default();
    plan.each_line(view.source(), |line, offset| {
        let line = shortened(line);
        if !reader.take(line, offset) && !barred::is_count(line) {
            others.add(line, offset);
        }
    })?;
    let (tables, more) = reader.finish();
    if others.count > tables.iter().map(|found| found.table.rows()).sum() {
        return Ok(Vec::new());
    }
    let [only] = &tables[..] else {
        let all = counted(&grouped(tables.len() as u64 + more), "table");
        let mut shown = vec![note(all)];
        for (at, found) in tables.iter().enumerate() {
            shown.push(located(
                view,
                found.header,
                (1 + at, 0),
                brief(found, plan),
            )?);
            if at == 0 {
                let columns = found.table.render(plan).into_iter().skip(1);
                shown.extend(columns.map(|column| OutlineEntry {
                    rank: column.rank + 1,
                    depth: 1,
                    ..column
                }));
            }
        }
        others.append(view, &mut shown)?;
        return Ok(shown);
    };
    let mut shown = only.table.render(plan);
    others.append(view, &mut shown)?;
    at_line(view, only.header, &mut shown)?;
    Ok(shown)
}

/// Adds the line number of the header to the first entry, unless it is the first line.
fn at_line(view: &View, header: u64, shown: &mut [OutlineEntry]) -> io::Result<()> {
    let line = view.line_of_offset(header)?;
    if line > 1 {
        shown[0].text.push_str(&format!(", header in line {line}"));
    }
    Ok(())
}

/// Returns a table in one line: its size and the names of its columns.
pub(crate) fn brief(found: &TableFound, plan: &SamplePlan) -> String {
    let names = found.table.names();
    let more = if names.len() > NAMES { ", …" } else { "" };
    let named = names.iter().filter(|name| !name.is_empty());
    let named: Vec<&str> = named.take(NAMES).map(|name| &**name).collect();
    let names = named.join(", ");
    let rows = counted(&plan.scaled(found.table.rows()), "row");
    format!("table of {rows}: {names}{more}")
}

#[cfg(test)]
mod tests;
