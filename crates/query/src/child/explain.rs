//! Explains unexpected results of a filter over records: names the columns and keys that do not
//! exist, and the columns that the filter compares with a value of another type.

use sonic_rs::LazyValue;
use spillgate_outline::grouped;

use super::access::{Accesses, Use};
use super::lazy::document;
use super::missing::{LOOKED_AT, missing_in, nearest};
use super::plan::{Step, StepKind, step_text, written};
use super::table::{Column, Table};
use crate::MissingPath;
use crate::protocol::{Format, Reading, Summary};

/// Maximum number of hints about the types of columns.
const HINTS: usize = 2;

/// The records on which a filter ran.
pub(crate) struct Records<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) format: Format,
    pub(crate) table: Option<&'a Table<'a>>,
    pub(crate) reading: Reading,
}

impl Records<'_> {
    /// Adds to the summary what explains the results: a column or key that does not exist, and
    /// columns that have another type than the filter expects.
    pub(crate) fn explain(&self, found: &Accesses, only_empty: bool, summary: &mut Summary) {
        let uses = found.paths.iter();
        let uses = uses.filter_map(|access| Some((self.in_record(&access.steps)?, access.usage)));
        let uses: Vec<_> = uses.collect();
        let missing = match (self.format, self.table) {
            (Format::Table { .. }, Some(table)) => uses
                .iter()
                .find_map(|(steps, _)| self.no_column(&table.columns, steps)),
            (Format::Ndjson, _) => self.no_key(uses.iter().map(|(steps, _)| *steps)),
            _ => None,
        };
        match missing {
            Some(missing) if only_empty => summary.missing = Some(missing),
            Some(missing) => {
                let is_sample =
                    self.format == Format::Ndjson && summary.documents > LOOKED_AT as u64;
                let looked_at = match is_sample {
                    true => format!(" (in the first {} lines)", grouped(LOOKED_AT as u64)),
                    false => String::new(),
                };
                summary.hints.push(format!("{missing}{looked_at}"));
            }
            None => {}
        }
        if let Some(table) = self.table {
            let hints = uses.iter().filter_map(|(steps, usage)| {
                let [step] = steps else { return None };
                of_type(column(&table.columns, step)?, *usage)
            });
            let mut hints: Vec<String> = hints.collect();
            hints.dedup();
            summary.hints.extend(hints.into_iter().take(HINTS));
        }
    }

    /// Returns the part of a path below the record; `None` if the path does not lead into a record.
    fn in_record<'s>(&self, steps: &'s [Step]) -> Option<&'s [Step]> {
        let inner = match (self.reading, steps) {
            (Reading::Each, inner) => inner,
            (Reading::All, [first, inner @ ..])
                if matches!(first.kind, StepKind::Each | StepKind::Index(_)) =>
            {
                inner
            }
            _ => return None,
        };
        (!inner.is_empty()).then_some(inner)
    }

    /// Returns the path from the filter's input to a record.
    fn record(&self) -> String {
        match self.reading {
            Reading::Each => String::new(),
            Reading::All => ".[]".to_owned(),
        }
    }

    fn no_column(&self, columns: &[Column], steps: &[Step]) -> Option<MissingPath> {
        let step = &steps[0];
        let StepKind::Key(key) = &step.kind else {
            return None;
        };
        // Cells beyond the header's width are called `column N`.
        if key.starts_with("column ") || column(columns, step).is_some() {
            return None;
        }
        let names = columns.iter().map(|column| column.name.clone()).collect();
        Some(nearest(self.record(), &step.kind, names))
    }

    fn no_key<'s>(&self, paths: impl Iterator<Item = &'s [Step]>) -> Option<MissingPath> {
        let mut paths = paths.peekable();
        paths.peek()?;
        let lines = self.data.split(|&byte| byte == b'\n');
        let first: Vec<LazyValue<'_>> = lines.filter_map(document).take(LOOKED_AT).collect();
        paths
            .into_iter()
            .find_map(|steps| missing_in(first.clone(), self.record(), steps))
    }
}

fn column<'a>(columns: &'a [Column], step: &Step) -> Option<&'a Column> {
    match &step.kind {
        StepKind::Key(key) => columns.iter().find(|column| column.name == *key),
        _ => None,
    }
}

/// Returns a hint if a column has another type than the filter expects.
fn of_type(column: &Column, usage: Use) -> Option<String> {
    let key = StepKind::Key(column.name.clone());
    let name = step_text(&key);
    let path = written(&[Step {
        kind: key,
        optional: false,
    }]);
    let is_taken_for_number = match usage {
        Use::AsNumber => column.texts > 0,
        // Only a few cells are texts, so the filter probably means to sort numbers.
        Use::Ordered => column.texts > 0 && column.numbers > column.texts,
        Use::AsText if column.is_numeric() => {
            return Some(format!(
                "{name} holds numbers, which never equal a text: compare with a number, or take ({path} | tostring)"
            ));
        }
        Use::AsText | Use::Read => false,
    };
    let (row, text) = column.first_text.as_ref().filter(|_| is_taken_for_number)?;
    Some(format!(
        "{name} holds text (row {row}: {text:?}), and text is greater than every number: take ({path} | tonumber? // null)"
    ))
}
