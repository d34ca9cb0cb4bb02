//! Fuzz targets for texts: views, JSON, encodings, outlines, web pages.

use std::sync::LazyLock;

use bytes::Bytes;
use reqwest::Url;
use serde_json::{Map, Value};
use spillgate_artifact::{ByteRange, ContentKind, Layout, Stats, TokenBudget};
use spillgate_lookup::Artifact;
use spillgate_outline::within;
use spillgate_search::paths_at;
use spillgate_text::{
    JsonLayout, JsonStringDecoder, Sanitizer, Tokenizer, ViewSink, clip, decode_json_string,
    raw_offset,
};
use spillgate_web::{BodyKind, Decoder, readable, robots_allow};
use spillgate_workspace_tools::{Body, Rules, Workspace, WorkspaceTools};
use tempfile::TempDir;

use crate::{BLOCKS, block_on, first_line, stored};

/// The output of a transformation, and the offset and origin of each line that it reported.
#[derive(Debug, Default, PartialEq)]
struct TransformedText {
    text: Vec<u8>,
    lines: Vec<(usize, u64)>,
}

impl ViewSink for TransformedText {
    fn text(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self, origin: u64) {
        self.lines.push((self.text.len(), origin));
    }
}

impl TransformedText {
    /// Checks that the lines are in the order of their origins, and that all origins are less than
    /// `raw`, the number of raw bytes.
    fn check(&self, raw: usize) {
        assert!(self.lines.is_sorted_by_key(|line| line.1), "{self:?}");
        assert!(
            self.lines.iter().all(|line| line.1 <= raw as u64),
            "{self:?}"
        );
    }
}

/// Makes the view of terminal output. The view must be text without control characters, and must
/// not depend on the block size.
pub fn view(bytes: &[u8]) {
    let transformed = BLOCKS.map(|block| {
        let (mut sanitizer, mut transformed) = (Sanitizer::default(), TransformedText::default());
        for block in bytes.chunks(block.min(bytes.len()).max(1)) {
            sanitizer.feed(block, &mut transformed).unwrap();
        }
        sanitizer.finish(&mut transformed).unwrap();
        transformed.check(bytes.len());
        transformed
    });
    assert!(
        transformed.iter().all(|one| *one == transformed[0]),
        "{transformed:?}"
    );
    let text = std::str::from_utf8(&transformed[0].text).unwrap();
    let is_readable = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    assert!(text.chars().all(is_readable), "{text:?}");
    for longest in [1, 2, 80] {
        let clipped = clip(text, longest);
        assert!(clipped == text || clipped.chars().nth(longest) == Some('…'));
    }
    let (mut decoder, mut decoded) = (JsonStringDecoder::default(), Vec::new());
    bytes
        .chunks(3)
        .for_each(|block| decoder.feed(block, &mut decoded));
    decoder.finish(&mut decoded);
    assert!(std::str::from_utf8(&decoded).is_ok() || std::str::from_utf8(bytes).is_err());
    leads_back(&stored::artifact(bytes));
}

/// Checks that every view line comes from a range of the raw bytes, and that this range does not
/// begin before the range of the line above.
pub(crate) fn leads_back(artifact: &Artifact) {
    let raw = artifact.raw().len();
    let mut above = 0;
    for line in 1..=artifact.view().lines().min(200) {
        let (start, end) = artifact
            .raw_range(line)
            .unwrap()
            .expect("the line is there");
        assert!(
            above <= start && start <= end && end <= raw,
            "line {line}: {start}..{end} of {raw} below {above}"
        );
        above = start;
    }
    assert_eq!(
        artifact.raw_range(artifact.view().lines() + 1).unwrap(),
        None
    );
}

/// Lays out JSON. The layout must be the same document, and only lines of JSON may have paths. The
/// bytes are also decoded as a JSON string, whose offsets are mapped back.
pub fn json(bytes: &[u8]) {
    let transformed = BLOCKS.map(|block| {
        let (mut layout, mut transformed) = (JsonLayout::default(), TransformedText::default());
        for block in bytes.chunks(block.min(bytes.len()).max(1)) {
            layout.feed(block, &mut transformed).unwrap();
        }
        transformed.check(bytes.len());
        transformed
    });
    assert!(
        transformed.iter().all(|one| *one == transformed[0]),
        "{transformed:?}"
    );
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        assert_eq!(
            serde_json::from_slice::<Value>(&transformed[0].text).unwrap(),
            value
        );
    }
    if std::str::from_utf8(bytes).is_ok()
        && let Some(text) = decode_json_string(bytes)
    {
        let inside = bytes.trim_ascii();
        let inside = &inside[1..inside.len() - 1];
        let mut above = 0;
        for at in 0..=text.len() as u64 {
            let raw = raw_offset(inside, at);
            assert!(above <= raw && raw <= inside.len() as u64);
            above = raw;
        }
    }
    let artifact = stored::artifact(bytes);
    let view = artifact.view();
    let lines = 1..=view.lines().min(200);
    let offsets: Vec<u64> = lines
        .map(|line| view.offset_of_line(line).unwrap())
        .collect();
    let paths = paths_at(&artifact, &offsets).unwrap();
    assert_eq!(paths.len(), offsets.len());
    assert!(view.layout() == Layout::Json || paths.iter().all(Option::is_none));
    leads_back(&artifact);
}

/// Tools that read files in a temporary directory.
static READER: LazyLock<(TempDir, WorkspaceTools)> = LazyLock::new(|| {
    let directory = TempDir::new().unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    (directory, WorkspaceTools::new(workspace, Rules::default()))
});

/// Decodes encodings. The first line names a charset, and the rest is a web page in this charset.
/// The whole input is also read as a file.
pub fn encodings(bytes: &[u8]) {
    let (charset, body) = first_line(bytes);
    let url = Url::parse("https://a.example/b").unwrap();
    let said = format!("text/plain; charset={}", String::from_utf8_lossy(charset));
    for (said, kind) in [
        (said.as_str(), BodyKind::Text),
        ("text/html", BodyKind::Html),
        ("", BodyKind::Text),
    ] {
        let _ = BodyKind::of(said, body);
        let read = readable(body, said, kind, true, &url);
        assert!(
            read.text.len() <= body.len() * 3 + 3,
            "a byte becomes a character"
        );
    }
    let (directory, tools) = &*READER;
    std::fs::write(directory.path().join("file"), bytes).unwrap();
    for (tool, argument) in [("read_file", "path"), ("grep_content", "pattern")] {
        let value = if tool == "read_file" { "file" } else { "[a-z]" };
        let arguments = Map::from_iter([(argument.to_owned(), Value::from(value))]);
        let answer = block_on(tools.call(tool, arguments));
        assert!(matches!(answer.body, Body::Text(_)));
        if let Body::Text(text) = answer.body {
            assert!(!text.contains("broke down"), "{text}");
        }
    }
}

/// Outlines any text as if it were of each kind (CSV, log, Markdown …) in turn. The outline must be
/// within the budget, and each entry must be one line.
pub fn outline(bytes: &[u8]) {
    let counter = Tokenizer::Heuristic.counter();
    let artifact = stored::artifact(bytes);
    let facts = &artifact.manifest().facts;
    let mut kinds = vec![facts.stats.kind];
    // Any text may be classified as any of these kinds from a sample.
    if facts.view.layout != Layout::Json && facts.stats.kind != ContentKind::Binary {
        kinds.extend(KINDS);
    }
    for kind in kinds {
        let stats = Stats {
            kind,
            ..facts.stats.clone()
        };
        let lines = spillgate_outline::outline(
            artifact.view(),
            &facts.view,
            stats.kind,
            stats.lines,
            facts.has_failed(),
        )
        .unwrap();
        for line in &lines {
            assert!(
                !line.text.chars().any(|c| c.is_control() && c != '\t'),
                "{kind}: {:?}",
                line.text
            );
        }
        let budget = TokenBudget::new(200);
        let kept = within(&lines, budget, &*counter).join("\n");
        assert!(counter.count(&kept) <= budget.get(), "{kind}: {kept}");
    }
}

/// The kinds that any text may be classified as.
const KINDS: [ContentKind; 10] = [
    ContentKind::Ndjson,
    ContentKind::Csv,
    ContentKind::Tsv,
    ContentKind::Markdown,
    ContentKind::Html,
    ContentKind::Xml,
    ContentKind::Diff,
    ContentKind::Log,
    ContentKind::Code,
    ContentKind::Text,
];

/// Converts a web page to Markdown. The title must be one line, and the size of the text must be
/// proportional to the size of the page.
pub fn html(bytes: &[u8]) {
    let url = Url::parse("https://a.example/b/c?d").unwrap();
    let page = readable(bytes, "text/html", BodyKind::Html, false, &url);
    assert!(page.title.is_none_or(|title| !title.contains(['\n', '\r'])));
    // The text may be longer than the page, because addresses of links are written out, and quotes
    // and lists are indented.
    assert!(
        page.text.len() <= (bytes.len() + 64) * 64,
        "{} of {}",
        page.text.len(),
        bytes.len()
    );
}

/// Parses `robots.txt`. The first line is the path of a page, the rest are the rules.
pub fn robots(bytes: &[u8]) {
    let (path, rules) = first_line(bytes);
    let base = Url::parse("https://a.example/").unwrap();
    if let Ok(page) = base.join(&String::from_utf8_lossy(path)) {
        let _ = robots_allow(rules, &page);
    }
}

/// Decodes compressed bodies. The first line is `gzip` or `deflate`. The decoded body must be
/// within the limit and the same for every block size.
pub fn decoder(bytes: &[u8]) {
    const LIMIT: u64 = 1 << 20;
    let (encoding, body) = first_line(bytes);
    let transformed = BLOCKS.map(|block| {
        let mut decoder = Decoder::new(&String::from_utf8_lossy(encoding), LIMIT)?;
        let mut all = Vec::new();
        for block in body.chunks(block.min(body.len()).max(1)) {
            let mut waiting = Bytes::copy_from_slice(block);
            while !waiting.is_empty() {
                match decoder.feed(&mut waiting) {
                    Ok(more) => all.extend(more),
                    Err(_) => return Some((Vec::new(), false)),
                }
            }
        }
        assert!(decoder.decoded() <= LIMIT && all.len() as u64 <= LIMIT);
        match decoder.finish() {
            Ok(more) => all.extend(more),
            Err(_) => return Some((Vec::new(), false)),
        }
        Some((all, true))
    });
    assert!(transformed.iter().all(|one| *one == transformed[0]));
    let _: Result<ByteRange, _> = String::from_utf8_lossy(encoding).parse();
}
