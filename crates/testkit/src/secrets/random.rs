//! A small generator of random numbers and texts. The same name always gives the same values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

pub(super) const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const HEX_UPPER: &str = "0123456789ABCDEF";
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(super) const ALNUM: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LOWER: &str = "0123456789abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE32_LOWER: &str = "abcdefghijklmnopqrstuvwxyz234567";
const BASE58: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BECH32: &str = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
const CROCKFORD: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const GEOHASH: &str = "0123456789bcdefghjkmnpqrstuvwxyz";
const AMINO: &str = "ACDEFGHIKLMNPQRSTVWY";
const AZURE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~-";

const WORDS: &[&str] = &[
    "account",
    "adapter",
    "archive",
    "batch",
    "billing",
    "branch",
    "broker",
    "buffer",
    "build",
    "cache",
    "catalog",
    "channel",
    "checkout",
    "client",
    "cluster",
    "column",
    "consumer",
    "country",
    "customer",
    "deploy",
    "device",
    "document",
    "engine",
    "export",
    "feature",
    "filter",
    "forecast",
    "garden",
    "gateway",
    "harbour",
    "history",
    "import",
    "index",
    "invoice",
    "journal",
    "ledger",
    "library",
    "market",
    "message",
    "metric",
    "mirror",
    "mobile",
    "order",
    "package",
    "partner",
    "payment",
    "planner",
    "policy",
    "printer",
    "profile",
    "project",
    "queue",
    "record",
    "region",
    "report",
    "request",
    "review",
    "router",
    "sample",
    "schedule",
    "search",
    "sensor",
    "service",
    "shipment",
    "station",
    "storage",
    "summary",
    "survey",
    "ticket",
    "timer",
    "tracker",
    "update",
    "vendor",
    "version",
    "warehouse",
    "weather",
    "window",
    "worker",
];

const NAMES: &[&str] = &[
    "alice", "amara", "bjorn", "carlos", "chen", "dmitri", "elena", "fatima", "george", "hana",
    "igor", "jonas", "keiko", "lena", "maria", "nikos", "olga", "priya", "rafael", "sofia",
    "tomas", "yusuf",
];

const HUMAN: &[&str] = &[
    "Harbour", "Cobalt", "Maple", "Thunder", "Velvet", "Orchid", "Saffron", "Glacier", "Falcon",
    "Bamboo", "Copper", "Lantern", "Meadow", "Raven", "Summit", "Tundra",
];

/// Random numbers and texts (xorshift).
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Starts a sequence that depends on the name only.
    pub(super) fn named(name: &str) -> Self {
        let hash = Sha256::digest(name.as_bytes());
        let start = hash
            .iter()
            .take(8)
            .fold(0, |all, byte| all << 8 | u64::from(*byte));
        Self(start | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// Returns a number less than `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a small number");
        usize::try_from(self.next() % end).expect("less than `end`")
    }

    /// Returns a number from `from` to `to`, both included.
    pub(super) fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }

    /// Returns one of the items.
    pub(super) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// Returns `count` letters of the alphabet, which is ASCII.
    pub(super) fn letters(&mut self, alphabet: &str, count: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..count)
            .map(|_| char::from(alphabet[self.below(alphabet.len())]))
            .collect()
    }

    /// Returns random bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    /// Returns the pattern with each `@{…}` replaced: `@{a|b|c}` by one of the choices,
    /// `@{3-7}` by a number, `@{hex:40}` and `@{hex:32-64}` by letters of an alphabet, `@{bytes:32}`
    /// by bytes in base64, `@{lines:3}` by lines of it, and a word such as `@{uuid}` by a value of
    /// that kind.
    pub(super) fn fill(&mut self, pattern: &str) -> String {
        let mut text = String::new();
        let mut rest = pattern;
        while let Some((before, behind)) = rest.split_once("@{") {
            let (hole, after) = behind.split_once('}').expect("each `@{` is closed");
            text.push_str(before);
            text.push_str(&self.value(hole));
            rest = after;
        }
        text + rest
    }

    fn value(&mut self, hole: &str) -> String {
        if hole.contains('|') {
            let choices: Vec<&str> = hole.split('|').collect();
            return self.pick(&choices).to_owned();
        }
        if let Some((alphabet, length)) = hole.split_once(':') {
            let count = self
                .number(length)
                .unwrap_or_else(|| panic!("no length: {hole}"));
            return match alphabet {
                "bytes" => STANDARD.encode(self.bytes(count)),
                "lines" => self.lines(count, "@{b64:64}"),
                "dump" => self.lines(
                    count,
                    "@{hex:8}: @{hex:4} @{hex:4} @{hex:4} @{hex:4}  ........",
                ),
                "mappings" => self
                    .lines(count, "@{letters:4},@{letters:5};")
                    .replace('\n', ""),
                "sentences" => self.lines(count, "@{sentence}"),
                _ => self.letters(alphabet_named(alphabet), count),
            };
        }
        self.number(hole)
            .map_or_else(|| self.word(hole), |number| number.to_string())
    }

    fn lines(&mut self, count: usize, pattern: &str) -> String {
        let lines: Vec<String> = (0..count).map(|_| self.fill(pattern)).collect();
        lines.join("\n")
    }

    /// Reads `40` or `32-64`, which stands for a number between the two.
    fn number(&mut self, text: &str) -> Option<usize> {
        match text.split_once('-') {
            Some((from, to)) => Some(self.between(from.parse().ok()?, to.parse().ok()?)),
            None => text.parse().ok(),
        }
    }

    fn word(&mut self, name: &str) -> String {
        match name {
            "word" => self.pick(WORDS).to_owned(),
            "Word" => capital(self.pick(WORDS)),
            "WORD" => self.pick(WORDS).to_uppercase(),
            "name" => self.pick(NAMES).to_owned(),
            "host" => self.fill("@{word}-@{1-9}.@{internal|example.com|prod.local|example.org}"),
            "ip" => self.fill("10.@{0-255}.@{0-255}.@{1-254}"),
            "email" => self.fill("@{name}.@{word}@example.com"),
            "uuid" => self.fill("@{hex:8}-@{hex:4}-4@{hex:3}-@{8|9|a|b}@{hex:3}-@{hex:12}"),
            "date" => self.fill("2026-@{01|02|03|04|05|06|07|08|09|10|11|12}-@{10-28}"),
            "clock" => self.fill("@{10-23}:@{10-59}:@{10-59}"),
            "time" => self.fill("@{date}T@{clock}.@{100-999}Z"),
            "semver" => self.fill("@{0-9}.@{0-30}.@{0-12}"),
            "password" => self.password(),
            "plain" => self.plain_password(),
            "sentence" => self.sentence(),
            "encoded" => STANDARD.encode(self.fill("@{sentences:1-6}\n")),
            _ => panic!("no such value: {name}"),
        }
    }

    /// Returns a password that a person or a generator made, with punctuation that needs no quotes
    /// in most places.
    fn password(&mut self) -> String {
        match self.below(3) {
            0 => self.plain_password(),
            1 => self.human() + &self.fill("@{!|!!|*|.|+}"),
            _ => self.fill("@{alnum:6-9}@{!|*|+|^|~|.}@{alnum:5-9}@{-|_|.|!}@{alnum:2-4}"),
        }
    }

    /// Returns a password of letters, digits, `-` and `_`.
    fn plain_password(&mut self) -> String {
        match self.below(3) {
            0 => self.human(),
            1 => self.fill("@{alnum:16-28}"),
            _ => self.fill("@{alnum:8}-@{alnum:4-8}_@{alnum:4-8}"),
        }
    }

    fn human(&mut self) -> String {
        let (one, two) = (self.pick(HUMAN), self.pick(HUMAN));
        format!("{one}{}{two}", self.fill("@{-|_|7|4|0}"))
            + &self.fill("@{10-99}@{letters:2}@{digits:2}")
    }

    fn sentence(&mut self) -> String {
        let verb = self.pick(&[
            "moves", "updates", "replaces", "reads", "delays", "prints", "follows",
        ]);
        let (one, two, three) = (self.pick(WORDS), self.pick(WORDS), self.pick(WORDS));
        format!("The {one} {verb} the {two} before the {three} starts.")
    }
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

fn alphabet_named(name: &str) -> &'static str {
    match name {
        "hex" => HEX,
        "HEX" => HEX_UPPER,
        "letters" => LETTERS,
        "digits" => DIGITS,
        "alnum" => ALNUM,
        "lower" => LOWER,
        "upper" => UPPER,
        "BASE32" => BASE32,
        "base32" => BASE32_LOWER,
        "base58" => BASE58,
        "b64" => BASE64,
        "url" => BASE64_URL,
        "bech32" => BECH32,
        "crockford" => CROCKFORD,
        "geohash" => GEOHASH,
        "amino" => AMINO,
        "azure" => AZURE,
        _ => panic!("no such alphabet: {name}"),
    }
}
