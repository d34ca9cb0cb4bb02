//! Text around a secret that holds none itself: what a tool prints before and after.

use super::marked::Marked;
use super::random::Random;

/// The most filler on each side, in bytes (it may end a line later).
const MOST: usize = 2048;

/// What the text around a secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filler {
    /// None: the context is whole.
    None,
    Log,
    Shell,
    Code,
    Prose,
    Settings,
}

const LOG: &[&str] = &[
    "@{time} INFO  @{word}-@{1-20} processed @{word} id=@{1000-99999} in @{2-900} ms",
    "@{time} DEBUG @{word}.@{word}: GET /v1/@{word}s/@{1-900} -> 200 (@{1-80} ms) trace=@{hex:32}",
    "@{time} WARN  @{word}-@{1-20} retry @{1-5} of 5 for @{host}:@{1024-9999}",
    "@{time} INFO  connected to @{ip}:@{1024-9999} request_id=@{uuid}",
    "@{time} ERROR @{word} @{word} failed: connection reset by peer",
];
const SHELL: &[&str] = &[
    "+ cd /srv/@{word}",
    "+ mkdir -p /srv/@{word}/@{word}",
    "-rw-r--r-- 1 @{name} staff @{100-90000} Mar @{10-28} @{10-23}:@{10-59} @{word}-@{word}.txt",
    "drwxr-xr-x 4 root root 4096 Jan @{10-28} @{10-23}:@{10-59} @{word}",
    "+ git checkout @{hex:40}",
    "HEAD is now at @{hex:7} @{Word} the @{word} @{word}",
    "@{sentence}",
];
const CODE: &[&str] = &[
    "def @{word}_@{word}(@{word}, limit=@{1-500}):",
    "    return [@{word}.@{word} for @{word} in @{word}s if @{word}.@{word} > @{1-90}]",
    "# @{sentence}",
    "@{word}_@{word} = @{Word}@{Word}(\"@{word}\", retries=@{1-9})",
    "import @{word}.@{word}",
    "",
    "class @{Word}@{Word}(Base@{Word}):",
];
const PROSE: &[&str] = &[
    "@{sentence} @{sentence}",
    "@{sentence}",
    "",
    "- @{sentence}",
    "## @{Word} and @{word}",
];
const SETTINGS: &[&str] = &[
    "# @{sentence}",
    "@{WORD}_@{WORD}=@{1-9000}",
    "@{WORD}_HOST=@{host}",
    "@{WORD}_URL=https://@{host}/@{word}",
    "@{WORD}_ENABLED=@{true|false}",
    "@{WORD}_REGION=@{eu-west-1|us-east-2|europe-west4}",
];

/// Returns nothing (each fifth time) or less than `most` bytes of filler and the end of a line.
pub(super) fn some_lines(filler: Filler, most: usize, random: &mut Random) -> String {
    let length = if random.below(5) == 0 {
        0
    } else {
        random.below(most)
    };
    lines(filler, length, random)
}

/// Returns lines of this kind, each with its line break, of at least `length` bytes.
pub(super) fn lines(filler: Filler, length: usize, random: &mut Random) -> String {
    let patterns = match filler {
        Filler::None => return String::new(),
        Filler::Log => LOG,
        Filler::Shell => SHELL,
        Filler::Code => CODE,
        Filler::Prose => PROSE,
        Filler::Settings => SETTINGS,
    };
    let mut text = String::new();
    while text.len() < length {
        let pattern = random.pick(patterns);
        text.push_str(&random.fill(pattern));
        text.push('\n');
    }
    text
}

/// Puts 0 to 2 KB of filler before and as much behind the text.
pub(super) fn surround(text: Marked, filler: Filler, random: &mut Random) -> Marked {
    let (before, after) = (
        some_lines(filler, MOST, random),
        some_lines(filler, MOST, random),
    );
    let after = if after.is_empty() {
        after
    } else {
        format!("\n{after}")
    };
    text.around(&before, &after)
}

/// Returns members of a JSON object, each with the comma behind it, or nothing.
pub(super) fn members(indent: &str, random: &mut Random) -> String {
    let count = random.below(12);
    (0..count)
        .map(|_| {
            let pattern = random.pick(&[
                "\"@{word}_id\": @{1000-99999}",
                "\"@{word}\": \"@{sentence}\"",
                "\"@{word}_ref\": \"@{uuid}\"",
                "\"@{word}s\": [\"@{word}\", \"@{word}\"]",
                "\"@{word}_at\": \"@{time}\"",
                "\"@{word}\": {\"name\": \"@{name}\", \"count\": @{1-500}}",
            ]);
            format!("{indent}{},", random.fill(pattern))
        })
        .collect()
}
