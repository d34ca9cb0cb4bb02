//! Tests for the recovery blocks of refused files, by kind of file.

use std::fmt::Write as _;
use std::io::{Seek, Write as _};

use insta::assert_snapshot;

use super::*;

#[test]
fn files_of_code() {
    let python = format!(
        "import os\n\n\nclass DataProcessor(Base):\n    def __init__(self):\n        pass\n\n{}",
        "    def process(self, item):\n        return item\n\n".repeat(2000)
    );
    let rust = format!(
        "//! Sums.\n\npub struct Sum(u64);\n\nimpl Sum {{\n{}}}\n",
        "    pub fn add(&mut self, more: u64) {\n        self.0 += more;\n    }\n\n".repeat(1500)
    );
    let blocks = [("src/large_module.py", python), ("sum.rs", rust)];
    let all = blocks.map(|(name, text)| of_file(name, text.as_bytes()));
    assert_snapshot!(all.join("\n\n"), @r#"
    --- Recovery Options ---
    File: src/large_module.py | 6007 lines, 100,077 chars

    Structure:
      - class DataProcessor(Base) (line 4)
      - def __init__(self) (line 5)
      - def process(self, item) (line 8)
      - def process(self, item) (line 11)
      - def process(self, item) (line 14)
      - def process(self, item) (line 17)
      - def process(self, item) (line 20)
      - def process(self, item) (line 23)
      - def process(self, item) (line 26)
      - def process(self, item) (line 29)
      (… 1992 more)

    Commands:
      • grep_content(pattern="DataProcessor", path="src/large_module.py", max_results=40)
      • read_file(file_path="src/large_module.py", offset=0, limit=100)

    --- Recovery Options ---
    File: sum.rs | 6006 lines, 105,046 chars

    Structure:
      - pub struct Sum(u64); (line 3)
      - impl Sum (line 5)
      - pub fn add(&mut self, more: u64) (line 6)
      - pub fn add(&mut self, more: u64) (line 10)
      - pub fn add(&mut self, more: u64) (line 14)
      - pub fn add(&mut self, more: u64) (line 18)
      - pub fn add(&mut self, more: u64) (line 22)
      - pub fn add(&mut self, more: u64) (line 26)
      - pub fn add(&mut self, more: u64) (line 30)
      - pub fn add(&mut self, more: u64) (line 34)
      (… 1492 more)

    Commands:
      • grep_content(pattern="Sum", path="sum.rs", max_results=40)
      • read_file(file_path="sum.rs", offset=0, limit=100)
    "#);
}

#[test]
fn files_of_data() {
    let rows: Vec<String> = (0..4000)
        .map(|id| format!("{{\"id\":{id},\"state\":\"open\",\"note\":null}}"))
        .collect();
    let json = format!("{{\"items\":[{}]}}", rows.join(","));
    let mut csv = "id,name,amount\n".to_owned();
    for id in 0..9000 {
        writeln!(csv, "{id},name {id},{}", id % 7).unwrap();
    }
    let blocks = [("rows.json", json), ("it's.csv", csv)];
    let all = blocks.map(|(name, text)| of_file(name, text.as_bytes()));
    assert_snapshot!(all.join("\n\n"), @r#"
    --- Recovery Options ---
    File: rows.json | 1 line, 154,901 chars

    Structure:
      - .items[]: array(4,000) of object
      -   .id: number 0–3999
      -   .state: string: "open"
      -   .note: null

    Commands:
      • grep_content(pattern="\"items\"", path="rows.json", max_results=40)
      • execute_shell(command="head -c 4000 -- 'rows.json'")

    --- Recovery Options ---
    File: it's.csv | 9001 lines, 150,795 chars

    Structure:
      - 9,000 rows, 3 columns
      - id: integer 0–8999
      - name: text: name 0, …
      - amount: integer 0–6

    Commands:
      • read_file(file_path="it's.csv", offset=0, limit=100)
    "#);
}

#[test]
fn files_of_text() {
    let line = "2026-11-21T10:00:01Z INFO worker-17 processed a batch\n";
    let log = format!(
        "{}2026-11-21T10:09:01Z ERROR worker-3 lost it\n",
        line.repeat(3000)
    );
    let mut markdown = "# Guide\n\nHow it works.\n".to_owned();
    for chapter in 1..40 {
        writeln!(
            markdown,
            "\n## Chapter {chapter}\n\n{}",
            "Words of it. ".repeat(250)
        )
        .unwrap();
    }
    let blocks = [("var/app.log", log), ("docs/guide.md", markdown)];
    let all = blocks.map(|(name, text)| of_file(name, text.as_bytes()));
    assert_snapshot!(all.join("\n\n"), @r#"
    --- Recovery Options ---
    File: var/app.log | 3001 lines, 162,044 chars

    Structure:
      - levels: ERROR 1, INFO 3,000
      - from 2026-11-21T10:00:01Z to 2026-11-21T10:09:01Z
      - 3,000× (line 1) <*> INFO worker-<*> processed a batch
      - 1× (line 3001) <*> ERROR worker-<*> lost it

    Commands:
      • grep_content(pattern="(?i)error|fail|warn|fatal|panic", path="var/app.log", max_results=40)
      • read_file(file_path="var/app.log", offset=0, limit=100)
      • read_file(file_path="var/app.log", offset=2901, limit=100)

    --- Recovery Options ---
    File: docs/guide.md | 159 lines, 127,427 chars

    Structure:
      - # Guide (line 1)
      - ## Chapter 1 (line 5)
      - ## Chapter 2 (line 12)
      - ## Chapter 3 (line 19)
      - ## Chapter 4 (line 26)
      - ## Chapter 5 (line 33)
      - ## Chapter 6 (line 40)
      - ## Chapter 7 (line 47)
      - ## Chapter 8 (line 54)
      - ## Chapter 9 (line 61)
      (… 30 more)

    Commands:
      • grep_content(pattern="^#+ ", path="docs/guide.md", max_results=40)
      • read_file(file_path="docs/guide.md", offset=0, limit=30)
    "#);
}

#[test]
fn files_without_a_shape() {
    let binary: Vec<u8> = (0..=255u8).cycle().take(200_000).collect();
    let all = [
        of_file("data.bin", &binary),
        of_file("x.txt", &b"x".repeat(200_000)),
    ];
    assert_snapshot!(all.join("\n\n"), @r#"
    --- Recovery Options ---
    File: data.bin | 200,000 bytes

    Commands:
      • execute_shell(command="head -c 256 -- 'data.bin' | od -c")

    --- Recovery Options ---
    File: x.txt | 1 line, 200,000 chars

    Commands:
      • execute_shell(command="head -c 4000 -- 'x.txt'")
    "#);
}

#[test]
fn of_a_huge_file_the_beginning_is_looked_at() {
    let (_root, shared) = shared(detailed());
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&b"def work(item):\n    return item\n\n".repeat(40_000))
        .unwrap();
    file.set_len(10 << 30).unwrap();
    file.seek(std::io::SeekFrom::Start(7)).unwrap();
    let block = for_file(&shared, "huge.py", &file, None);
    assert_eq!(file.stream_position().unwrap(), 7);
    assert_snapshot!(block, @r#"
    --- Recovery Options ---
    File: huge.py | 10,737,418,240 bytes

    Structure of the first 1 MiB:
      - def work(item) (line 1)
      - def work(item) (line 4)
      - def work(item) (line 7)
      - def work(item) (line 10)
      - def work(item) (line 13)
      - def work(item) (line 16)
      - def work(item) (line 19)
      - def work(item) (line 22)
      - def work(item) (line 25)
      - def work(item) (line 28)
      (… 31765 more)

    Commands:
      • grep_content(pattern="work", path="huge.py", max_results=40)
      • read_file(file_path="huge.py", offset=0, limit=100)
    "#);
}

#[test]
fn the_end_of_a_huge_log_is_found_from_the_end() {
    let (_root, with_shell) = shared(detailed());
    let (_root, without) = shared(Rules {
        shell: None,
        ..detailed()
    });
    let mut file = tempfile::tempfile().unwrap();
    let line = b"2026-11-21T10:00:01Z INFO worker-17 processed a batch\n";
    file.write_all(&line.repeat(30_000)).unwrap();
    let calls = |shared: &Shared, lines| {
        let block = for_file(shared, "it's.log", &file, lines);
        block.split_once("Commands:\n").unwrap().1.to_owned()
    };
    let all = [
        calls(&with_shell, None),
        calls(&with_shell, Some(30_000)),
        calls(&without, None),
    ];
    assert_snapshot!(all.join("\n\n"), @r#"
    • grep_content(pattern="(?i)error|fail|warn|fatal|panic", path="it's.log", max_results=40)
    • read_file(file_path="it's.log", offset=0, limit=100)
    • execute_shell(command="tail -n 100 -- 'it'\\''s.log'")

    • grep_content(pattern="(?i)error|fail|warn|fatal|panic", path="it's.log", max_results=40)
    • read_file(file_path="it's.log", offset=0, limit=100)
    • read_file(file_path="it's.log", offset=29900, limit=100)

    • grep_content(pattern="(?i)error|fail|warn|fatal|panic", path="it's.log", max_results=40)
    • read_file(file_path="it's.log", offset=0, limit=100)
    "#);
}
