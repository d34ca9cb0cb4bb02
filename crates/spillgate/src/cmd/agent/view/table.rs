//! Columns of a table on standard output.

/// On which side a column's texts stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Rows as lines: each column as wide as its widest text, two spaces between them
/// and none at the ends.
pub(super) fn table<const N: usize>(sides: [Side; N], rows: &[[String; N]]) -> String {
    let width = |text: &String| text.chars().count();
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(sides).zip(widths);
        let cells: Vec<String> = cells
            .map(|((cell, side), width)| match side {
                Side::Left => format!("{cell:width$}"),
                Side::Right => format!("{cell:>width$}"),
            })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
