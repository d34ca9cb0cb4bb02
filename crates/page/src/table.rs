//! Tables: CSV, TSV, lines of JSON, and arrays of objects, sorted and filtered by the server.
//!
//! The first request finds where each row begins. Later requests read only the rows that they show, and
//! an order of the rows is computed once and kept for some time.

mod sheet;

use std::collections::VecDeque;
use std::sync::Arc;

use maud::{Markup, html};
use parking_lot::Mutex;
use spillgate_artifact::Handle;
use spillgate_http_api::Problem;
use spillgate_offload::Offloader;
use spillgate_outline::grouped;

use crate::artifact::Subject;
use crate::{Page, shown};
use sheet::Sheet;

/// Rows of a page.
const ROWS: usize = 50;

/// Most characters of a cell.
const CELL: usize = 200;

/// Most bytes of a cell that is narrower than the widest column (36em), whatever its letters.
const SHORT: usize = 36;

/// Sheets and orders that are kept: 8 MB and 4 MB each at most.
const KEPT: usize = 6;

/// What selects an order of the rows of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Selection {
    /// The column by which the rows are sorted, and whether the greatest comes first.
    sort: Option<(usize, bool)>,
    /// A text in the row, in lower case.
    filter: Option<String>,
}

/// An output as some may see it: with or without the secrets in it.
type Seen = (Handle, bool);

/// The numbers of the rows in an order.
type RowOrder = Arc<Vec<u32>>;

/// The sheets and orders that were computed last.
#[derive(Default)]
pub(crate) struct Orders {
    sheets: Kept<Seen, Arc<Sheet>>,
    orders: Kept<(Seen, Selection), RowOrder>,
}

/// The values that were computed last, by what they were computed from.
pub(crate) struct Kept<K, V>(Mutex<VecDeque<(K, V)>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V: Clone> Kept<K, V> {
    /// Returns the value for a key, and computes it if it is not known.
    pub(crate) fn get(
        &self,
        key: K,
        compute: impl FnOnce() -> Result<V, Problem>,
    ) -> Result<V, Problem> {
        let known = |kept: &VecDeque<(K, V)>| {
            let found = kept.iter().find(|(of, _)| *of == key);
            found.map(|(_, value)| value.clone())
        };
        if let Some(value) = known(&self.0.lock()) {
            return Ok(value);
        }
        let value = compute()?;
        let mut kept = self.0.lock();
        kept.push_front((key, value.clone()));
        kept.truncate(KEPT);
        Ok(value)
    }
}

/// Returns a page of the rows that the request asks for.
pub(crate) fn table(
    page: &Page,
    offloader: &Offloader,
    subject: &Subject,
) -> Result<Markup, Problem> {
    let artifact = offloader.artifact(subject.handle)?;
    let seen = (subject.handle, subject.reveals);
    let sheet = match page
        .tables
        .sheets
        .get(seen, || Sheet::of(&artifact).map(Arc::new))
    {
        Ok(sheet) => sheet,
        // The other views still show the output.
        Err(problem) => {
            return Ok(html! { p.notice { (shown::line(problem.detail(), 400)) "." } });
        }
    };
    let asked = &subject.asked;
    let sort: usize = asked.number("sort", 0)?;
    // Columns are counted from 1 in addresses, so that 0 is none.
    let sort = sort.checked_sub(1).filter(|&at| at < sheet.columns.len());
    let selection = Selection {
        sort: sort.map(|at| (at, asked.flag("down"))),
        filter: asked.text("filter").map(str::to_lowercase),
    };
    let is_plain = selection.sort.is_none() && selection.filter.is_none();
    let source = artifact.view().source();
    let order = match is_plain {
        true => None,
        false => Some(page.tables.orders.get((seen, selection.clone()), || {
            let order = sheet.order(source, selection.sort, selection.filter.as_deref());
            order.map(Arc::new)
        })?),
    };
    let total = order.as_ref().map_or(sheet.rows(), |order| order.len());
    let last = total.div_ceil(ROWS).max(1);
    let number = asked.number("page", 1_usize)?.clamp(1, last);
    let first = (number - 1) * ROWS;
    let shown = first..total.min(first + ROWS);
    let rows = shown.map(|at| order.as_ref().map_or(at, |order| order[at] as usize));
    let rows: Vec<usize> = rows.collect();
    let cells = rows.iter().map(|&row| sheet.cells(source, row));
    let cells = cells.collect::<Result<Vec<_>, _>>()?;
    Ok(html! {
        (filter(subject, &sheet, total))
        div.scroll tabindex="0" role="region" aria-label="Table" {
            table.sheet {
                thead { tr { th.number scope="col" { "#" } @for (at, name) in sheet.columns.iter().enumerate() { (column(subject, at, name, selection.sort)) } } }
                tbody {
                    @for (row, cells) in rows.iter().zip(&cells) {
                        tr {
                            td.number.faint { (grouped(*row as u64 + 1)) }
                            @for cell in cells { (self::cell(cell)) }
                        }
                    }
                }
            }
        }
        (pages(subject, number, last))
    })
}

fn filter(subject: &Subject, sheet: &Sheet, total: usize) -> Markup {
    let asked = &subject.asked;
    html! {
        form.filters method="get" action=(subject.address("")) {
            input type="hidden" name="tab" value="table";
            @for name in ["sort", "down", "secrets"] {
                @if let Some(value) = asked.text(name) { input type="hidden" name=(name) value=(value); }
            }
            input type="search" name="filter" value=[asked.text("filter")] placeholder="Rows with this text" aria-label="Rows with this text";
            button { "Filter" }
            span.status role="status" {
                (grouped(total as u64)) " rows"
                @if total != sheet.rows() { " of " (grouped(sheet.rows() as u64)) }
                @if sheet.is_cut { ". There are more; the look-up " code { "jq" } " reads all of them" }
                @if let Some(path) = &sheet.path { " of " code { (shown::line(path, 80)) } }
            }
        }
    }
}

fn column(subject: &Subject, at: usize, name: &str, sort: Option<(usize, bool)>) -> Markup {
    let own = sort.filter(|(by, _)| *by == at);
    let (down, direction, arrow) = match own {
        None => ("", None, ""),
        Some((_, false)) => ("1", Some("ascending"), " ↑"),
        Some((_, true)) => ("", Some("descending"), " ↓"),
    };
    let number = (at + 1).to_string();
    let to = subject.with(&[
        ("tab", "table"),
        ("sort", &number),
        ("down", down),
        ("page", ""),
    ]);
    html! {
        th scope="col" aria-sort=[direction] { a href=(to) { (shown::line(name, 60)) (arrow) } }
    }
}

fn cell(text: &str) -> Markup {
    let is_number = text.len() < 40 && text.parse::<f64>().is_ok();
    let cut = text
        .char_indices()
        .nth(4 * CELL)
        .map_or(text.len(), |(at, _)| at);
    let shown = shown::line(&text[..cut], CELL);
    // A browser takes noticeably longer for each cell that it must clip.
    html! { td.number[is_number].long[shown.len() > SHORT] { (shown) } }
}

fn pages(subject: &Subject, number: usize, last: usize) -> Markup {
    let to = |page: usize| subject.with(&[("tab", "table"), ("page", &page.to_string())]);
    html! {
        @if last > 1 {
            nav.pages aria-label="Pages of the table" {
                @if number > 1 { a href=(to(1)) { "First" } a rel="prev" href=(to(number - 1)) { "Previous" } }
                span { "page " (grouped(number as u64)) " of " (grouped(last as u64)) }
                @if number < last { a rel="next" href=(to(number + 1)) { "Next" } a href=(to(last)) { "Last" } }
            }
        }
    }
}
