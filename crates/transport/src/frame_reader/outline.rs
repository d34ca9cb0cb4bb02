//! Builds the [`Skeleton`] of a JSON value that arrives as a stream.

use super::lexer::{Lexer, Token};
use crate::skeleton::Skeleton;

/// Strings and containers above this size, in bytes, are left out of the skeleton.
const LARGE: u64 = 4 << 10;

/// Maximum memory of a skeleton, in bytes. Above this size, the outermost list is left out.
const MOST_SKELETON: usize = 4 << 20;

/// Maximum depth at which structure is kept. The deepest structure in the protocol is
/// `messages[].content[].resource`.
const DEEPEST: usize = 8;

/// Maximum nesting of brackets. Each level takes one byte.
const MOST_DEPTH: usize = 1 << 20;

/// Names of the members whose structure is kept in the skeleton.
const KEPT: [&str; 5] = ["content", "contents", "messages", "resource", "_meta"];

/// Maximum length, in bytes, of a member name that is examined.
const LONGEST_NAME: usize = 64;

/// Builds the skeleton of one value from blocks of any size.
#[derive(Debug)]
pub(crate) struct Outliner {
    lexer: Lexer,
    /// Bytes of the value that have arrived.
    at: u64,
    skeleton: Skeleton,
    /// The open containers whose structure is kept, outermost first.
    levels: Vec<Level>,
    /// The leaf that is open: a string, or a container whose structure is not kept and which is not
    /// inside another such container.
    leaf: Option<Leaf>,
    is_done: bool,
    is_odd: bool,
}

/// Where a part of the value begins.
#[derive(Debug, Clone, Copy)]
struct Start {
    json: usize,
    raw: u64,
    /// The first byte of the part.
    first: u8,
}

#[derive(Debug)]
struct Level {
    start: Start,
    /// The exact text of the next member's name; empty in a list.
    name: Vec<u8>,
    /// Whether the next string is a member name.
    is_naming: bool,
    /// Whether the container has too many members, so that the rest of it is left out of the
    /// skeleton.
    is_hidden: bool,
}

#[derive(Debug)]
struct Leaf {
    start: Start,
    /// Open brackets inside the leaf, innermost last; true for `{`.
    open: Vec<bool>,
    in_string: bool,
    /// Whether the leaf is too large, so that the rest of it is left out of the skeleton.
    is_hidden: bool,
}

impl Outliner {
    pub(crate) fn new() -> Self {
        Self {
            lexer: Lexer::default(),
            at: 0,
            skeleton: Skeleton::empty(),
            levels: Vec::new(),
            leaf: None,
            is_done: false,
            is_odd: false,
        }
    }

    /// Takes the next bytes. Returns how many of them belong to the value.
    pub(crate) fn feed(&mut self, block: &[u8]) -> usize {
        let mut taken = 0;
        while taken < block.len() && !self.is_done {
            let rest = &block[taken..];
            let (token, length) = self.lexer.next(rest);
            self.take(token, &rest[..length]);
            taken += length;
        }
        taken
    }

    /// Whether the value is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Whether the value's brackets and escapes have been valid so far.
    pub(crate) fn is_sound(&self) -> bool {
        !self.is_odd
    }

    /// Returns the skeleton of a complete value.
    pub(crate) fn finish(self) -> Skeleton {
        self.skeleton
    }

    fn take(&mut self, token: Token, bytes: &[u8]) {
        self.is_odd |= token == Token::Odd;
        let end = self.at + bytes.len() as u64;
        match &mut self.leaf {
            Some(leaf) => {
                if !leaf.is_hidden && end - leaf.start.raw > LARGE {
                    leaf.is_hidden = true;
                    self.skeleton.cut(leaf.start.json);
                }
                if !leaf.is_hidden {
                    self.skeleton.push(bytes);
                }
                match leaf.take(token) {
                    Went::On => {}
                    Went::Odd => self.is_odd = true,
                    Went::Done => self.end_leaf(end),
                }
            }
            None => self.structure(token, bytes, end),
        }
        self.at = end;
        self.bound();
    }

    fn structure(&mut self, token: Token, bytes: &[u8], end: u64) {
        match token {
            Token::Open(byte) if self.is_structure() => {
                let start = self.start(byte);
                self.levels.push(Level {
                    start,
                    name: Vec::new(),
                    is_naming: byte == b'{',
                    is_hidden: self.is_hidden(),
                });
                self.write(bytes);
            }
            Token::Open(_) | Token::StringBegins => self.begin_leaf(token, bytes[0]),
            Token::Close(byte) => {
                self.write(bytes);
                self.end_level(byte, end);
            }
            Token::Comma => {
                self.write(bytes);
                if let Some(level) = self.levels.last_mut() {
                    level.is_naming = level.start.first == b'{';
                    level.name.clear();
                }
            }
            Token::Colon => {
                self.write(bytes);
                if let Some(level) = self.levels.last_mut() {
                    level.is_naming = false;
                }
            }
            _ => self.write(bytes),
        }
    }

    fn start(&self, first: u8) -> Start {
        Start {
            json: self.skeleton.json().len(),
            raw: self.at,
            first,
        }
    }

    /// Whether the structure of the container that begins here is kept.
    fn is_structure(&self) -> bool {
        let Some(level) = self.levels.last() else {
            return true; // it is the value itself, not a part of it
        };
        self.levels.len() < DEEPEST
            && (level.start.first == b'[' || is_kept(&level.name))
            && !level.is_hidden
    }

    fn begin_leaf(&mut self, token: Token, first: u8) {
        let mut leaf = Leaf {
            start: self.start(first),
            open: Vec::new(),
            in_string: false,
            is_hidden: self.is_hidden(),
        };
        leaf.take(token);
        self.write(&[first]);
        self.leaf = Some(leaf);
    }

    fn end_leaf(&mut self, end: u64) {
        let Some(leaf) = self.leaf.take() else {
            return;
        };
        let start = leaf.start;
        let hidden_above = self.is_hidden();
        if let Some(level) = self.levels.last_mut()
            && level.is_naming
            && start.first == b'"'
            && !leaf.is_hidden
        {
            let name = &self.skeleton.json()[start.json..];
            level.name = name[..name.len().min(LONGEST_NAME)].to_vec();
        }
        if leaf.is_hidden && !hidden_above {
            let raw = start.raw..end;
            self.skeleton.leave_out(start.json, start.first, raw);
        }
        self.is_done = self.levels.is_empty();
    }

    fn end_level(&mut self, byte: u8, end: u64) {
        let Some(level) = self.levels.pop() else {
            self.is_odd = true;
            return;
        };
        self.is_odd |= (level.start.first == b'{') != (byte == b'}');
        if level.is_hidden && !self.is_hidden() {
            let raw = level.start.raw..end;
            let start = level.start;
            self.skeleton.leave_out(start.json, start.first, raw);
        }
        self.is_done = self.levels.is_empty();
    }

    fn is_hidden(&self) -> bool {
        self.levels.last().is_some_and(|level| level.is_hidden)
    }

    fn write(&mut self, bytes: &[u8]) {
        if !self.is_hidden() {
            self.skeleton.push(bytes);
        }
    }

    /// Keeps the skeleton within its size limit. First leaves out a whole list of many small parts,
    /// then, if necessary, the whole value.
    fn bound(&mut self) {
        if self.skeleton.cost() <= MOST_SKELETON {
            return;
        }
        let is_free = |level: &&Level| !level.is_hidden;
        let outermost = match self.levels.get(1).filter(is_free) {
            Some(_) => 1,
            None => 0,
        };
        let Some(level) = self.levels.get(outermost) else {
            return;
        };
        self.skeleton.cut(level.start.json);
        for level in &mut self.levels[outermost..] {
            level.is_hidden = true;
        }
        if let Some(leaf) = &mut self.leaf {
            leaf.is_hidden = true;
        }
    }
}

/// The effect of a token on the open leaf: it continues, is complete, or is invalid.
enum Went {
    On,
    Done,
    Odd,
}

impl Leaf {
    fn take(&mut self, token: Token) -> Went {
        match token {
            Token::StringBegins => self.in_string = true,
            Token::StringEnds => self.in_string = false,
            Token::Open(_) if self.open.len() == MOST_DEPTH => return Went::Odd,
            Token::Open(byte) => self.open.push(byte == b'{'),
            Token::Close(byte) if self.open.pop() != Some(byte == b'}') => return Went::Odd,
            _ => {}
        }
        match self.open.is_empty() && !self.in_string {
            true => Went::Done,
            false => Went::On,
        }
    }
}

/// Whether the structure of a member with this name is kept. `name` is the exact text of the name.
fn is_kept(name: &[u8]) -> bool {
    let decoded: Option<String> = serde_json::from_slice(name).ok();
    decoded.is_some_and(|name| KEPT.contains(&name.as_str()))
}
