//! Reads the rows of a table as objects.
//!
//! The keys are the cells of the header. If all non-empty cells of a column are JSON numbers, the
//! column contains numbers, with their digits as written, and `null` for empty cells. All other
//! columns contain strings. Thus `.price > 5` compares numbers, and the postcode `01234` stays a
//! string.

use std::collections::HashSet;

use jaq_json::{Map, Val, read};

/// The header of a table and the types of its columns.
pub(crate) struct Table<'a> {
    text: &'a [u8],
    delimiter: u8,
    names: Vec<Val>,
    pub(crate) columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug, Default)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// Number of cells that are numbers.
    pub(crate) numbers: u64,
    /// Number of other cells that are not empty.
    pub(crate) texts: u64,
    /// The first cell that is not a number, and its row, counted from 1.
    pub(crate) first_text: Option<(u64, String)>,
}

impl Column {
    /// Returns whether the column holds numbers.
    pub(crate) fn is_numeric(&self) -> bool {
        self.texts == 0 && self.numbers > 0
    }

    fn may_have_numbers(&self) -> bool {
        self.texts < TEXTS || self.numbers > 0
    }
}

/// If a column has this many texts and no number, its further cells are no longer checked for
/// numbers.
const TEXTS: u64 = 1_000;

/// Maximum length of a cell that is kept as an example, in characters.
const LONGEST_EXAMPLE: usize = 30;

impl<'a> Table<'a> {
    /// Reads the whole table to determine the types of its columns.
    pub(crate) fn new(text: &'a [u8], delimiter: u8) -> Self {
        let mut reader = reader(text, delimiter);
        let header = reader.byte_headers().cloned().unwrap_or_default();
        let mut columns: Vec<Column> = names(&header)
            .into_iter()
            .map(|name| Column {
                name,
                ..Column::default()
            })
            .collect();
        let mut row = csv::ByteRecord::new();
        let mut number = 0;
        while reader.read_byte_record(&mut row).unwrap_or(false) {
            number += 1;
            for (cell, column) in row.iter().zip(&mut columns) {
                // One text makes the column a column of texts, but its numbers are still counted.
                match cell {
                    [] => {}
                    cell if column.may_have_numbers() && is_number(cell) => column.numbers += 1,
                    cell => {
                        column.texts += 1;
                        column.first_text.get_or_insert_with(|| {
                            let cell = String::from_utf8_lossy(cell);
                            (number, cell.chars().take(LONGEST_EXAMPLE).collect())
                        });
                    }
                }
            }
        }
        let names = columns.iter().map(|column| column.name.clone().into());
        Self {
            text,
            delimiter,
            names: names.collect(),
            columns,
        }
    }

    /// Returns the rows. For an unreadable row, returns the error.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<Val, String>> {
        let rows = reader(self.text, self.delimiter).into_byte_records();
        rows.map(move |row| {
            row.map(|row| self.object(&row))
                .map_err(|error| error.to_string())
        })
    }

    fn object(&self, row: &csv::ByteRecord) -> Val {
        let mut object = Map::default();
        for (at, name) in self.names.iter().enumerate() {
            let value = match (row.get(at), self.columns[at].is_numeric()) {
                (None, _) | (Some([]), true) => Val::Null,
                (Some(cell), true) => read::parse_single(cell).unwrap_or_default(),
                (Some(cell), false) => Val::utf8_str(cell.to_vec()),
            };
            object.insert(name.clone(), value);
        }
        for (at, cell) in row.iter().enumerate().skip(self.names.len()) {
            object.insert(
                Val::from(format!("column {}", at + 1)),
                Val::utf8_str(cell.to_vec()),
            );
        }
        Val::obj(object)
    }
}

fn reader(text: &[u8], delimiter: u8) -> csv::Reader<&[u8]> {
    let mut builder = csv::ReaderBuilder::new();
    builder.delimiter(delimiter).flexible(true);
    builder.from_reader(text)
}

/// Returns a unique name for each column.
fn names(header: &csv::ByteRecord) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut names = Vec::new();
    for (at, cell) in header.iter().enumerate() {
        let cell = String::from_utf8_lossy(cell.trim_ascii()).into_owned();
        let unnamed = cell.is_empty() || taken.contains(&cell);
        let name = match unnamed {
            true => format!("column {}", at + 1),
            false => cell,
        };
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// Returns whether a cell is a JSON number.
fn is_number(cell: &[u8]) -> bool {
    matches!(cell.first(), Some(b'-' | b'0'..=b'9'))
        && cell.last().is_some_and(u8::is_ascii_digit)
        && serde_json::from_slice::<serde_json::Number>(cell).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_hold_numbers() {
        let text = b"id,price,code,,id\n1,1.50,007,x,7\n22,,8,y\n3,-2e3,9,\"a,\"\"b\"\"\",,9\n";
        let rows: Vec<String> = Table::new(text, b',')
            .rows()
            .map(|row| row.unwrap().to_string())
            .collect();
        insta::assert_snapshot!(rows.join("\n"), @r#"
        {"id":1,"price":1.50,"code":"007","column 4":"x","column 5":7}
        {"id":22,"price":null,"code":"8","column 4":"y","column 5":null}
        {"id":3,"price":-2e3,"code":"9","column 4":"a,\"b\"","column 5":null,"column 6":"9"}
        "#);
    }
}
