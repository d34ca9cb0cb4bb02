//! Prints how fast texts without secrets are searched, on one thread, and how fast a `RegexSet` of
//! the same rules is on the same texts: `cargo run --release -p spillgate-redact --example speed [NAME]`
//! prints it for the texts whose name contains NAME.

#![expect(clippy::print_stdout, reason = "the table is for people")]
#![expect(clippy::cast_possible_truncation, reason = "the numbers are small")]

use std::error::Error;
use std::fmt::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use regex::bytes::RegexSetBuilder;
use spillgate_redact::{Rules, find};
use toml_edit::Document;

/// Bytes of a text: few enough for one thread.
const SIZE: usize = 3 << 20;
/// Each figure is the best of the runs in this time.
const TIME: Duration = Duration::from_millis(600);

fn main() -> Result<(), Box<dyn Error>> {
    let rules = Document::parse(include_str!("../src/rules.toml"))?;
    let rules = rules["rule"].as_array_of_tables().ok_or("no rules")?;
    let patterns = rules
        .iter()
        .filter_map(|rule| rule.get("pattern")?.as_str());
    let set = RegexSetBuilder::new(patterns)
        .unicode(false)
        .size_limit(1 << 28)
        .build()?;
    let rules = Rules::builtin();
    println!(
        "{:24} {:>10} {:>10} {:>7} findings",
        "text", "MB/s", "RegexSet", "ratio"
    );
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, text) in texts() {
        if !name.contains(&wanted) {
            continue;
        }
        let source = Bytes::from(text);
        let found = find(&rules, &source)?;
        let ours = best(|| find(&rules, &source).is_ok());
        let theirs = best(|| set.matches(&source).matched_any());
        let speed = |time: f64| source.len() as f64 / time / 1e6;
        println!(
            "{name:24} {:>10.0} {:>10.0} {:>7.1} {}",
            speed(ours),
            speed(theirs),
            theirs / ours,
            found.spans().len()
        );
    }
    Ok(())
}

/// Returns the seconds of the fastest run.
fn best(mut run: impl FnMut() -> bool) -> f64 {
    let start = Instant::now();
    let mut best = f64::MAX;
    while start.elapsed() < TIME {
        let start = Instant::now();
        std::hint::black_box(run());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Repeatable random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn letters(&mut self, alphabet: &str, count: usize) -> String {
        let alphabet = alphabet.as_bytes();
        let letter = |_| char::from(alphabet[self.next(alphabet.len() as u64) as usize]);
        (0..count).map(letter).collect()
    }
}

const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[expect(clippy::too_many_lines, reason = "a table")]
fn texts() -> Vec<(&'static str, String)> {
    let mut random = Random(88_172_645_463_325_252);
    let mut text = |line: &dyn Fn(&mut Random, &mut String)| {
        let mut text = String::with_capacity(SIZE + 4096);
        while text.len() < SIZE {
            line(&mut random, &mut text);
        }
        text.truncate(SIZE);
        text
    };
    let put = |text: &mut String, line: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = text.write_fmt(line);
    };
    vec![
        (
            "log",
            text(&|random, text| {
                put(
                    text,
                    format_args!(
                        "2026-11-25T12:{:02}:{:02}.{:03}Z INFO worker-{} request {} took {} ms for /api/v1/items/{}\n",
                        random.next(60),
                        random.next(60),
                        random.next(1000),
                        random.next(9),
                        random.next(99_999),
                        random.next(900),
                        random.next(9999)
                    ),
                );
            }),
        ),
        (
            "json",
            text(&|random, text| {
                put(
                    text,
                    format_args!(
                        "{{\"id\": {}, \"name\": \"item {}\", \"created_at\": \"2026-01-01T00:00:00Z\", \"active\": true, \"tags\": [\"a\", \"b\"], \"url\": \"https://example.com/items/{}\"}}\n",
                        random.next(99_999),
                        random.next(999),
                        random.next(9999)
                    ),
                );
            }),
        ),
        (
            "json in json",
            text(&|random, text| {
                put(
                    text,
                    format_args!(
                        "{{\"level\":\"info\",\"body\":\"{{\\\"id\\\":{},\\\"name\\\":\\\"item {}\\\",\\\"note\\\":\\\"a\\\\nb\\\"}}\\n\"}}\n",
                        random.next(99_999),
                        random.next(999)
                    ),
                );
            }),
        ),
        (
            "keywords in each line",
            text(&|random, text| {
                put(
                    text,
                    format_args!(
                        "the token was refused: check the password and the api_key of user {}, secret not found\n",
                        random.next(999)
                    ),
                );
            }),
        ),
        (
            "assignments",
            text(&|random, text| {
                put(
                    text,
                    format_args!(
                        "password = get_password({})\ntoken: Option<Token>, max_tokens: {}, \"secretName\": \"db-credentials\"\n",
                        random.next(999),
                        random.next(4096)
                    ),
                );
            }),
        ),
        (
            "urls",
            text(&|random, text| {
                put(
                    text,
                    format_args!(
                        "GET https://cdn.example.com/a%20b/{}?x={}&q=hello%2Cworld HTTP/1.1 200\n",
                        random.next(9999),
                        random.next(9999)
                    ),
                );
            }),
        ),
        (
            "lock file",
            text(&|random, text| {
                let hash = random.letters(HEX, 64);
                put(
                    text,
                    format_args!(
                        "[[package]]\nname = \"crate-{}\"\nversion = \"1.{}.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"{hash}\"\n\n",
                        random.next(999),
                        random.next(99)
                    ),
                );
            }),
        ),
        (
            "npm lock file",
            text(&|random, text| {
                let hash = random.letters(BASE64, 86);
                put(
                    text,
                    format_args!(
                        "    \"node_modules/package-{}\": {{\n      \"version\": \"1.{}.0\",\n      \"resolved\": \"https://registry.npmjs.org/package/-/package-1.tgz\",\n      \"integrity\": \"sha512-{hash}==\"\n    }},\n",
                        random.next(999),
                        random.next(99)
                    ),
                );
            }),
        ),
        (
            "base64 image",
            text(&|random, text| {
                let data = random.letters(BASE64, 40_000);
                put(
                    text,
                    format_args!("{{\"type\":\"image\",\"data\":\"{data}\"}}\n"),
                );
            }),
        ),
        (
            "base64 text",
            text(&|random, text| {
                let number = random.next(9);
                put(
                    text,
                    format_args!(
                        "{}",
                        "VGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHRoZSBsYXp5IGRvZy4g"
                            .repeat(40 + number as usize)
                    ),
                );
                text.push('\n');
            }),
        ),
        (
            "minified js",
            text(&|random, text| {
                put(
                    text,
                    format_args!(
                        "function e{}(t,n){{var r=t.key||n.token,o=r.password?r.sortKey:null;return o&&o.apiKey===i.key?a(t,\"x\",n[{}]):s(e.tokens,{{key:t,value:n}})}}",
                        random.next(999),
                        random.next(99)
                    ),
                );
            }),
        ),
        ("hostile: eyJ-", text(&|_, text| text.push_str("eyJ-"))),
        (
            "hostile: password:",
            text(&|_, text| text.push_str("password:")),
        ),
        (
            "coloured log",
            text(&|random, text| {
                put(
                    text,
                    format_args!(
                        "\u{1b}[2m2026-11-25T12:00:00Z\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m \u{1b}[2mserver\u{1b}[0m: request {} done\n",
                        random.next(99_999)
                    ),
                );
            }),
        ),
    ]
}
