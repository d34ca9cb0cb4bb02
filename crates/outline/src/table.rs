//! The columns of a table.

/// Rows that are looked at to tell what a column holds.
const ROWS: u64 = 200;
/// Different values that are named of a column with few of them.
const FEW: usize = 4;

/// A line a column: its name, what it holds and examples. `lines` and `partial`
/// tell how many rows there are about.
pub(super) fn outline(text: &str, delimiter: u8, lines: u64, partial: bool) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let Ok(header) = reader.headers().cloned() else {
        return Vec::new();
    };
    let mut columns: Vec<Column> = header.iter().map(Column::new).collect();
    let mut rows = 0u64;
    for row in reader.records().map_while(Result::ok) {
        rows += 1;
        if rows > ROWS {
            continue;
        }
        for (column, value) in columns.iter_mut().zip(row.iter()) {
            column.take(value);
        }
    }
    let rows = match partial {
        true => format!("≈{} rows", lines.saturating_sub(2)),
        false => format!("{rows} rows"),
    };
    let mut outline = vec![format!("{rows}, {} columns", columns.len())];
    outline.extend(columns.iter().map(Column::render));
    outline
}

struct Column {
    name: String,
    numeric: bool,
    empty: bool,
    values: Vec<String>,
    more: bool,
}

impl Column {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            numeric: true,
            empty: false,
            values: Vec::new(),
            more: false,
        }
    }

    fn take(&mut self, value: &str) {
        if value.is_empty() {
            self.empty = true;
            return;
        }
        self.numeric = self.numeric && value.trim().parse::<f64>().is_ok();
        if self.values.iter().any(|known| known == value) {
            return;
        }
        match self.values.len() < FEW {
            true => self.values.push(value.to_owned()),
            false => self.more = true,
        }
    }

    fn render(&self) -> String {
        let kind = if self.numeric && !self.values.is_empty() {
            "number"
        } else {
            "text"
        };
        let empty = if self.empty { "|empty" } else { "" };
        let values: Vec<String> = self
            .values
            .iter()
            .map(|value| {
                value
                    .chars()
                    .take(24)
                    .collect::<String>()
                    .escape_debug()
                    .to_string()
            })
            .collect();
        let more = if self.more { ", …" } else { "" };
        format!(
            "{}: {kind}{empty}: {}{more}",
            self.name.escape_debug(),
            values.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn columns() {
        let text = "id,name,state\n1,\"a\nb\",on\n2,c,\n3,d,off\n";
        assert_snapshot!(outline(text, b',', 5, false).join("\n"), @r"
        3 rows, 3 columns
        id: number: 1, 2, 3
        name: text: a\nb, c, d
        state: text|empty: on, off
        ");
    }
}
