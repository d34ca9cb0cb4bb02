//! Reads the rows of a table as objects.
//!
//! Keys are the cells of the header. A column whose non-empty cells are all JSON numbers contains
//! numbers, with their digits as written, and `null` for empty cells. All other columns contain
//! strings. So `.price > 5` compares numbers, and `01234` stays a postcode.

use std::collections::HashSet;

use jaq_json::{Map, Val, read};

/// The header of a table and the types of its columns.
pub(crate) struct Table<'a> {
    text: &'a [u8],
    delimiter: u8,
    names: Vec<Val>,
    numeric: Vec<bool>,
}

impl<'a> Table<'a> {
    /// Reads a whole table to determine the types.
    pub(crate) fn new(text: &'a [u8], delimiter: u8) -> Self {
        let mut reader = reader(text, delimiter);
        let header = reader.byte_headers().cloned().unwrap_or_default();
        let names = names(&header).into_iter().map(Val::from).collect();
        let mut numeric = vec![true; header.len()];
        let mut seen = vec![false; header.len()];
        let mut row = csv::ByteRecord::new();
        while reader.read_byte_record(&mut row).unwrap_or(false) {
            let columns = row.iter().zip(&mut numeric).zip(&mut seen);
            for ((cell, numeric), seen) in columns.filter(|((cell, _), _)| !cell.is_empty()) {
                *numeric = *numeric && is_number(cell);
                *seen = true;
            }
        }
        let numeric = numeric
            .iter()
            .zip(seen)
            .map(|(&numeric, seen)| numeric && seen);
        Self {
            text,
            delimiter,
            names,
            numeric: numeric.collect(),
        }
    }

    /// Returns the rows; an unreadable row as its error.
    pub(crate) fn rows(self) -> impl Iterator<Item = Result<Val, String>> + 'a {
        let rows = reader(self.text, self.delimiter).into_byte_records();
        rows.map(move |row| {
            row.map(|row| self.object(&row))
                .map_err(|error| error.to_string())
        })
    }

    fn object(&self, row: &csv::ByteRecord) -> Val {
        let mut object = Map::default();
        for (at, name) in self.names.iter().enumerate() {
            let value = match (row.get(at), self.numeric[at]) {
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

/// Returns a name for each column; all names differ.
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
