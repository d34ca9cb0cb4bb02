//! Reads tables whose columns are aligned under a header.
//!
//! A drawn line below the header shows the columns. Without such a line, the columns are between
//! the gutters: the positions at which the header and nearly all rows are blank. Values must begin
//! or end where their header does. In prose and code, this is never so for many lines.

use super::FEWEST;

/// Number of lines in which the header is looked for. `top`, for example, prints seven lines above
/// its header.
const ABOVE: usize = 9;
/// One row in this many may be too wide for its columns.
const TOO_WIDE: usize = 40;
/// From this number of rows on, one additional line may not fit the columns.
const MANY: usize = 8;
/// Maximum number of characters of a name.
const NAME_CHARS: usize = 48;

/// The positions of the columns of a table.
#[derive(Debug)]
pub(super) struct Columns {
    /// The byte at which the header begins.
    pub(super) header: u64,
    header_text: Vec<u8>,
    each: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    /// The index of the first character, and of the character after the last one. The last column
    /// has no end.
    start: usize,
    end: usize,
    /// The position of the name in the header.
    name_start: usize,
    name_end: usize,
    /// The names of several narrow columns without a gutter between them, as `ps` prints them after
    /// a wide value. Blanks separate their values. Empty for a single column.
    words: Vec<String>,
}

impl Columns {
    /// Finds the columns in the first lines of a text. `head` contains each line and its offset.
    pub(super) fn of(head: &[(u64, &[u8])]) -> Option<Self> {
        let above = &head[..head.len().min(ABOVE)];
        if !above.iter().any(|(_, line)| may_be_header(line)) {
            return None;
        }
        let places: Vec<Vec<u8>> = head.iter().map(|(_, line)| positions(line)).collect();
        let mut headers = 0..above.len();
        headers.find_map(|at| Self::under(&head[at..], &places[at..]))
    }

    /// Finds the columns if the first line of `head` is the header.
    fn under(head: &[(u64, &[u8])], places: &[Vec<u8>]) -> Option<Self> {
        let &(offset, header) = head.first()?;
        if !may_be_header(header) {
            return None; // spares most texts the search for gutters
        }
        let drawn = head.get(1).and_then(|(_, line)| spans(line));
        let below = &places[(1 + usize::from(drawn.is_some())).min(places.len())..];
        let rows = below.iter().take_while(|line| !line.is_empty()).count();
        let rows = &below[..rows];
        let fewest = if drawn.is_some() { 1 } else { FEWEST };
        // If more lines follow a table than it has rows, it is a part of another text.
        if rows.len() < fewest || rows.len() * 2 < below.len() {
            return None;
        }
        let header_text = header.to_vec();
        let text: Vec<char> = String::from_utf8_lossy(header).chars().collect();
        let columns = match &drawn {
            Some(spans) => from_line(&text, spans),
            None => between_gutters(&text, rows)?,
        };
        let is_named = columns.len() > 1 && columns.iter().all(|column| is_name(&column.name));
        let mut found = Self {
            header: offset,
            header_text,
            each: columns,
        };
        let fits = is_named && found.fits(rows, drawn.is_some());
        if drawn.is_none() && fits {
            found.split(rows);
        }
        fits.then_some(found)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.each.iter().flat_map(|column| {
            let one = column.words.is_empty().then_some(&column.name);
            one.into_iter().chain(&column.words).map(|name| &**name)
        })
    }

    /// Splits columns whose values have as many words as their name.
    fn split(&mut self, rows: &[Vec<u8>]) {
        let last = self.each.len() - 1;
        for at in 0..last {
            let names: Vec<String> = self.each[at]
                .name
                .split_whitespace()
                .map(str::to_owned)
                .collect();
            if names.len() < 2 {
                continue;
            }
            let (mut all, mut alike) = (0, 0);
            for row in rows {
                let Some(starts) = self.starts(row) else {
                    continue;
                };
                let cell = row.get(starts[at]..starts[at + 1].min(row.len()));
                all += 1;
                alike += usize::from(words(cell.unwrap_or_default()).count() == names.len());
            }
            if alike * TOO_WIDE >= all * (TOO_WIDE - 1) {
                self.each[at].words = names;
            }
        }
    }

    /// Returns whether a line repeats the header, or is a drawn line below it.
    pub(super) fn is_frame(&self, line: &[u8]) -> bool {
        line == self.header_text || spans(line).is_some()
    }

    /// Returns the cells of a row; `None` if the line is not a row.
    pub(super) fn cells<'l>(&self, line: &'l [u8]) -> Option<Vec<&'l [u8]>> {
        let places = positions(line);
        let starts = self.starts(&places)?;
        let bytes = byte_offsets(line, places.len());
        let ends = starts[1..].iter().copied().chain([places.len()]);
        let mut cells: Vec<&[u8]> = Vec::with_capacity(self.each.len());
        for ((&start, end), column) in starts.iter().zip(ends).zip(&self.each) {
            let (start, end) = (start.min(places.len()), end.min(places.len()));
            let (start, end) = match &bytes {
                None => (start, end),
                Some(bytes) => (bytes[start], bytes[end]),
            };
            column.split(line[start..end.max(start)].trim_ascii(), &mut cells);
        }
        let filled = cells.iter().filter(|cell| !cell.is_empty()).count();
        (filled >= 2).then_some(cells)
    }

    /// Returns the positions at which the cells of a row begin. A value that extends into the next
    /// column belongs to the column in which it begins. A row has at most one such value.
    fn starts(&self, places: &[u8]) -> Option<Vec<usize>> {
        let is_filled = |at: usize| places.get(at).is_some_and(|&place| place != b' ');
        let mut starts = vec![0];
        let mut crossing = 0;
        for pair in self.each.windows(2) {
            let mut start = pair[1].start;
            if is_filled(start) && start > 0 && is_filled(start - 1) {
                let from = (0..start).rev().take_while(|&at| is_filled(at)).last();
                let from = from.unwrap_or(start);
                crossing += 1;
                start = match from >= pair[0].end && from > *starts.last().unwrap_or(&0) {
                    true => from,
                    false => (start..places.len())
                        .find(|&at| !is_filled(at))
                        .unwrap_or(places.len()),
                };
            }
            starts.push(start.max(*starts.last().unwrap_or(&0)));
        }
        (crossing <= 1 + self.each.len() / 8).then_some(starts)
    }

    /// Returns whether the rows are rows of this table.
    fn fits(&self, rows: &[Vec<u8>], is_drawn: bool) -> bool {
        let last = self.each.len() - 1;
        let (mut good, mut aligned, mut values) = (0, 0, 0);
        // Values that are equal to the name of their column. If there are many, the first line is
        // not a header.
        let mut named_alike = 0;
        // For each column, the number of values, and how many of them begin with a digit.
        let mut figures = vec![(0, 0); last + 1];
        for row in rows {
            let Some(starts) = self.starts(row) else {
                continue;
            };
            let ends = starts[1..].iter().copied().chain([row.len()]);
            let mut filled = 0;
            for (at, (start, end)) in starts.iter().copied().zip(ends).enumerate() {
                let cell = row.get(start.min(row.len())..end.min(row.len()));
                let cell = cell.unwrap_or_default();
                let Some(first) = cell.iter().position(|&place| place != b' ') else {
                    continue;
                };
                filled += 1;
                let text = cell.trim_ascii();
                named_alike += usize::from(text == self.each[at].name.as_bytes());
                figures[at].0 += 1;
                figures[at].1 += usize::from(text[0].is_ascii_digit());
                if at > 0 {
                    let column = &self.each[at];
                    let from = start + first;
                    values += 1;
                    let is_aligned = from == column.name_start
                        || (at < last && from + text.len() == column.name_end)
                        || (at == last && start + cell.len() == column.name_end);
                    aligned += usize::from(is_aligned);
                }
            }
            good += usize::from(filled * 2 > last && filled > 1);
        }
        let is_shouted = self
            .names()
            .all(|name| !name.contains(|c: char| c.is_ascii_lowercase()));
        let has_figures = figures.iter().any(|&(all, some)| all > 0 && all == some);
        let is_header = is_drawn || is_shouted || (last > 1 && has_figures);
        let is_header = is_header && named_alike * 2 < rows.len();
        is_header && good * 10 >= rows.len() * 9 && aligned * 10 >= values * 7
    }
}

/// Returns a byte for each character of a line: a space, a digit, or another character.
fn positions(line: &[u8]) -> Vec<u8> {
    if line.is_ascii() {
        let place = |&byte: &u8| if byte == b'\t' { b' ' } else { byte };
        return line.iter().map(place).collect();
    }
    let text = String::from_utf8_lossy(line);
    text.chars()
        .map(|c| match c {
            ' ' | '\t' => b' ',
            c if c.is_ascii() => u8::try_from(c).unwrap_or(b'x'),
            _ => b'x',
        })
        .collect()
}

/// Returns the offset of each character, and of the end; `None` if the line is ASCII.
fn byte_offsets(line: &[u8], chars: usize) -> Option<Vec<usize>> {
    if line.is_ascii() {
        return None;
    }
    let mut offsets = Vec::with_capacity(chars + 1);
    let mut at = 0;
    for chunk in line.utf8_chunks() {
        offsets.extend(chunk.valid().char_indices().map(|(from, _)| at + from));
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            offsets.push(at); // shown as one replacement character
            at += chunk.invalid().len();
        }
    }
    offsets.push(line.len());
    Some(offsets)
}

/// Returns the parts of a line that is drawn below a header, such as `---- -----` or, as `dpkg -l`
/// writes it, `+++-====-====`.
fn spans(line: &[u8]) -> Option<Vec<(usize, usize)>> {
    let is_stroke = |byte: &u8| b"-=+".contains(byte);
    let is_drawn = line.iter().all(|byte| is_stroke(byte) || *byte == b' ');
    if !is_drawn || memchr::memmem::find(line, b"--").is_none() && !line.starts_with(b"=") {
        // `+++-==-==` has no two dashes in a row.
        if !is_drawn || !line.starts_with(b"+++-=") {
            return None;
        }
    }
    let gap = match (memchr::memchr(b' ', line), memchr::memchr(b'=', line)) {
        (Some(_), _) => b' ',
        (None, Some(_)) => b'-',
        _ => return None,
    };
    let mut found = Vec::new();
    let mut from = None;
    for (at, &byte) in line.iter().chain([&gap]).enumerate() {
        match (from, byte == gap) {
            (None, false) => from = Some(at),
            (Some(start), true) => {
                found.push((start, at));
                from = None;
            }
            _ => {}
        }
    }
    (found.len() > 1).then_some(found)
}

/// Returns the columns that a drawn line shows.
fn from_line(header: &[char], spans: &[(usize, usize)]) -> Vec<Column> {
    let columns = spans.iter().enumerate();
    let columns = columns.map(|(at, &(start, end))| {
        let until = spans.get(at + 1).map_or(header.len(), |next| next.0);
        Column::named(header, start, end, until)
    });
    columns.collect()
}

impl Column {
    /// Creates a column whose name ends before the character `until`.
    fn named(header: &[char], start: usize, end: usize, until: usize) -> Self {
        let part =
            &header[start.min(header.len())..until.min(header.len()).max(start.min(header.len()))];
        let before = part.iter().take_while(|c| c.is_whitespace()).count();
        let name: String = part.iter().collect();
        let name = name.trim().to_owned();
        let name_start = start + before;
        Self {
            name_end: name_start + name.chars().count(),
            name_start,
            name,
            start,
            end,
            words: Vec::new(),
        }
    }

    /// Adds a cell to `into`, split into the values of the narrow columns.
    fn split<'l>(&self, cell: &'l [u8], into: &mut Vec<&'l [u8]>) {
        match self.words.len() {
            0 => into.push(cell),
            many => {
                let mut words = words(cell);
                into.extend((0..many).map(|_| words.next().unwrap_or_default()));
            }
        }
    }
}

fn words(cell: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = cell.split(|byte| b" \t".contains(byte));
    words.filter(|word| !word.is_empty())
}

/// Returns the columns between the positions that are blank in the header and in nearly all rows.
fn between_gutters(header: &[char], rows: &[Vec<u8>]) -> Option<Vec<Column>> {
    let last_word = header.iter().rposition(|c| c.is_whitespace())? + 1;
    let mut filled = vec![0; last_word + 1];
    for row in rows {
        for (at, &place) in row.iter().take(last_word + 1).enumerate() {
            filled[at] += usize::from(place != b' ');
        }
    }
    let may = rows.len() / TOO_WIDE + usize::from(rows.len() >= MANY);
    let is_gutter = |at: usize| header[at].is_whitespace() && filled[at] <= may;
    let mut cells: Vec<(usize, usize)> = Vec::new();
    for at in (0..=last_word).filter(|&at| !is_gutter(at)) {
        match cells.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => cells.push((at, at + 1)),
        }
    }
    let has_name =
        |&(start, end): &(usize, usize)| header[start..end].iter().any(|c| !c.is_whitespace());
    // A part of the header without a name belongs to the column before it.
    let mut named: Vec<(usize, usize)> = Vec::new();
    for cell in cells {
        match named.last_mut() {
            Some((_, end)) if !has_name(&cell) => *end = cell.1,
            _ => named.push(cell),
        }
    }
    // A second word without values of its own belongs to the name before it: `Mounted on`,
    // `NOMINATED NODE`.
    let values = |start: usize| {
        let is_filled = |row: &&Vec<u8>| row.get(start).is_some_and(|&place| place != b' ');
        rows.iter().filter(is_filled).count()
    };
    named.dedup_by(|cell, before| {
        let is_empty = match cell.0 == last_word {
            true => values(cell.0) * 2 < rows.len(),
            false => (cell.0..cell.1).all(|at| filled[at] <= may),
        };
        let is_second = is_empty && before.1.max(end_of_name(header, *before)) + 1 >= cell.0;
        if is_second {
            before.1 = cell.1;
        }
        is_second
    });
    if let Some(last) = named.last_mut() {
        last.1 = header.len();
    }
    let columns = named.iter().enumerate().map(|(at, &(start, end))| {
        let until = named.get(at + 1).map_or(header.len(), |next| next.0);
        Column::named(header, start, end, until)
    });
    Some(columns.collect())
}

/// Returns the end of the name in a cell.
fn end_of_name(header: &[char], (start, end): (usize, usize)) -> usize {
    let name = header[start..end].iter().rposition(|c| !c.is_whitespace());
    name.map_or(start, |at| start + at + 1)
}

/// Returns whether a line may contain the names of columns: no word of it has several digits.
fn may_be_header(line: &[u8]) -> bool {
    let digits = |word: &[u8]| word.iter().filter(|byte| byte.is_ascii_digit()).count();
    words(line).all(|word| digits(word) <= 1)
}

/// Returns whether a text may be the name of a column.
fn is_name(name: &str) -> bool {
    let digits = name.chars().filter(char::is_ascii_digit).count();
    let begins = name.starts_with(|c: char| c.is_alphanumeric() || "%#|_".contains(c));
    let is_short = name.chars().count() <= NAME_CHARS && name.split_whitespace().count() <= 4;
    begins && is_short && digits <= 1 && !name.ends_with([':', ';', ',', '.', '{', '='])
}
