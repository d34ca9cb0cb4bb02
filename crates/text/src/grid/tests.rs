//! Tests that compare the grid's counts and offsets with a simple search.

use proptest::prelude::*;

use super::*;

fn grid(bytes: &[u8], newline: Newline) -> LineGrid {
    let grid = LineGrid::of(&bytes.to_vec(), newline, &|| false);
    grid.unwrap().expect("nobody stopped it")
}

/// Returns the offsets at which lines begin, and the end, by checking each byte or pair of bytes.
fn naive(bytes: &[u8], newline: Newline) -> Vec<u64> {
    let mark: &[u8] = match newline {
        Newline::Byte => b"\n",
        Newline::Utf16Le => b"\n\0",
        Newline::Utf16Be => b"\0\n",
    };
    let units = bytes.chunks(mark.len()).enumerate();
    let ends = units.filter(|(_, unit)| *unit == mark);
    let mut starts = vec![0];
    starts.extend(ends.map(|(at, _)| ((at + 1) * mark.len()) as u64));
    let end = bytes.len() as u64;
    if starts.last() != Some(&end) {
        starts.push(end);
    }
    starts
}

fn check(bytes: &[u8], newline: Newline) {
    let grid = grid(bytes, newline);
    let starts = naive(bytes, newline);
    assert_eq!(grid.lines(), starts.len() as u64 - 1);
    let step = (starts.len() / 50).max(1);
    for (line, start) in starts.iter().enumerate().step_by(step) {
        let found = grid.offset_of_line(&bytes.to_vec(), line as u64);
        assert_eq!(found.unwrap(), *start, "line {line}");
    }
    let past = grid.offset_of_line(&bytes.to_vec(), grid.lines() + 7);
    assert_eq!(past.unwrap(), bytes.len() as u64);
}

#[test]
fn a_block_is_read_in_parts() {
    // A block is read in several parts, as in a source of more than 4 GiB.
    let bytes = "a line\n".repeat(30_000).into_bytes();
    let lines = 30_000;
    let grid = LineGrid {
        newline: Newline::Byte,
        bytes: bytes.len() as u64,
        block: 4 * BLOCK,
        until: vec![lines],
        is_open: false,
    };
    for line in [1, 9_000, 18_000, 20_001, lines - 1] {
        assert_eq!(grid.offset_of_line(&bytes, line).unwrap(), 7 * line);
    }
}

#[test]
fn lines_over_many_blocks() {
    let long = "x".repeat(200_000);
    let texts = [
        "line\n".repeat(500_000),
        format!("a\n{long}\nb\n{long}{long}\nc"),
        "\n".repeat(300_000),
        long,
        String::new(),
    ];
    for text in texts {
        check(text.as_bytes(), Newline::Byte);
        let units: Vec<u16> = text.encode_utf16().collect();
        let le: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let be: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        check(&le, Newline::Utf16Le);
        check(&be, Newline::Utf16Be);
    }
}

/// A source that ends before its reported length, like a truncated file.
#[derive(Debug)]
struct Short(Vec<u8>);

impl ByteSource for Short {
    fn len(&self) -> u64 {
        self.0.len() as u64 * 2
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

#[test]
fn a_source_that_ends_early_is_an_error() {
    let short = Short(b"line\n".repeat(1_000_000));
    let counted = LineGrid::of(&short, Newline::Byte, &|| false);
    assert_eq!(counted.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn it_stops_when_told() {
    let text = b"line\n".repeat(1_000_000);
    let counted = LineGrid::of(&text, Newline::Byte, &|| true);
    assert_eq!(counted.unwrap(), None);
}

proptest! {
    #[test]
    fn any_bytes_have_the_lines_of_the_rule(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(0), any::<u8>()], 0..600),
    ) {
        for newline in [Newline::Byte, Newline::Utf16Le, Newline::Utf16Be] {
            check(&bytes, newline);
        }
    }
}
