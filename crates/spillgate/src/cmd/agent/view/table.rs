//! Formats tables for standard output.

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Formats rows as lines. Each column is as wide as its widest text; columns are two spaces apart,
/// and lines have no spaces at their ends.
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
