//! Scores the members of a JSON document.
//!
//! In the view each member or element has its own line, so the indentation is the structure. One
//! pass over the lines follows it without a parser. The terms of a key count for everything below
//! it. Two kinds of candidates result: a *leaf* with the path to it (its path identifies it), and a
//! *record*, the object or array in which leaves with different terms meet (a sibling identifies
//! it).

use std::hash::{Hash, Hasher};
use std::io;

use memchr::memchr;
use rustc_hash::FxHasher;
use spillgate_artifact::Layout;
use spillgate_text::{SOFT_CHARS, View, push_elements};

use crate::candidates::{Candidate, Candidates};
use crate::entity::{Entity, Member, names_its_object};
use crate::leaf::{Leaf, Line, is_telling, pieces, remember, string_end};
use crate::matcher::{Hit, Matcher, WordCache};
use crate::path::{LONGEST_KEY, UNTOLD, step_key};
use crate::question::{Question, Terms};
use crate::scan::{WINDOW, whole_lines};

/// Containers deeper than this count as the one at this depth.
const DEEPEST: usize = 256;
/// In a container of more bytes, terms that occur together mean nothing.
const LARGEST_RECORD: u64 = 256 << 10;
/// Most objects around a leaf that are kept.
const AROUND: usize = 4;
/// A requested list or object is shown whole up to this many bytes.
const LARGEST_MEMBER: u64 = 2000;
/// Bytes of a usual leaf with its path.
pub(crate) const USUAL_LEAF: f64 = 120.0;

/// Facts about a place in JSON.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// The path as jq writes it; empty before the document.
    pub path: String,
    /// For a record: the leaves in it with hits.
    pub leaves: Vec<Leaf>,
    /// The objects around it, nearest first: first byte, and how many bytes of `path` lead to it.
    pub around: Vec<(u64, usize)>,
    /// A leaf beside it that identifies the object.
    pub identity: Option<Leaf>,
    /// Whether this is the object that the question names. Its leaves are then the members that the
    /// question asks for.
    pub is_entity: bool,
}

/// Collects the candidates in a view with the JSON layout. `prelude` bytes of notes precede the
/// document.
pub(crate) fn scan(view: &View, prelude: u64, question: &Question) -> io::Result<Candidates> {
    let matcher = &Matcher::new(question, &[]);
    let mut walker = JsonWalker {
        question,
        prelude,
        frames: Vec::new(),
        found: Candidates::default(),
        within_line: false,
    };
    let mut known = WordCache::default();
    let (mut base, mut buffer) = (0, Vec::new());
    while base < view.bytes() {
        let stop = view.bytes().min(base + WINDOW);
        let bytes = view.source().window(base, stop, &mut buffer)?;
        let cut = match stop == view.bytes() {
            true => bytes.len(),
            false => whole_lines(bytes, Layout::Json),
        };
        walker.window(base, &bytes[..cut], matcher, &mut known);
        base += cut as u64;
    }
    while !walker.frames.is_empty() {
        walker.close(view.bytes());
    }
    Ok(walker.found)
}

/// Returns the factor by which the length of a text dilutes a hit. It grows slowly, because a
/// record may be much longer than a leaf and still be one thing.
pub(crate) fn dilution(bytes: usize) -> f64 {
    1.0 + 0.3 * (1.0 + bytes as f64 / USUAL_LEAF).log2()
}

/// The state of the pass through a document.
struct JsonWalker<'q> {
    question: &'q Question,
    prelude: u64,
    /// The open containers, outermost first.
    frames: Vec<Frame>,
    found: Candidates,
    /// Whether the window before ended inside a line.
    within_line: bool,
}

/// An open object or array.
#[derive(Debug, Default)]
struct Frame {
    /// First byte of its line in the view.
    start: u64,
    is_array: bool,
    /// Members or elements so far.
    children: u64,
    /// The key as written, quotes included; empty in an array.
    key: String,
    /// Its index in an array.
    index: u64,
    /// Terms of its key.
    own: Terms,
    /// Terms of its key and of the keys above.
    inherited: Terms,
    /// Terms below it.
    below: Terms,
    hits: u32,
    /// Leaves in it, at any depth.
    leaf_count: u64,
    /// The most terms in one child.
    widest: u32,
    leaves: Vec<Leaf>,
    identity: Option<Leaf>,
    entity: Entity,
}

impl JsonWalker<'_> {
    fn window(&mut self, base: u64, text: &[u8], matcher: &Matcher, known: &mut WordCache) {
        let mut hits = matcher.hits(text, known);
        let mut next = hits.next();
        let mut at = 0;
        let mut of_line = Vec::new();
        while at < text.len() {
            let end = memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
            of_line.clear();
            while let Some(hit) = next.filter(|hit| hit.at < end) {
                of_line.push(hit);
                next = hits.next();
            }
            let line = Line {
                start: base + at as u64,
                text: &text[at..end],
                at,
            };
            if self.within_line || line.start < self.prelude {
                self.leaf(line, &of_line, text, None);
            } else {
                self.line(line, &of_line, text);
            }
            self.within_line = end == text.len();
            at = end + 1;
        }
    }

    fn line(&mut self, line: Line<'_>, hits: &[Hit], window: &[u8]) {
        let indent = line.text.iter().take_while(|byte| **byte == b' ').count();
        let body = &line.text[indent..];
        let depth = (indent / 2).min(DEEPEST);
        let closes = matches!(body.first(), Some(b'}' | b']'));
        while self.frames.len() > depth + usize::from(closes) {
            self.close(line.start);
        }
        if closes {
            if self.frames.len() == depth + 1 {
                self.close(line.start + line.text.len() as u64 + 1);
            }
            return;
        }
        let key = self.enter(body);
        let key_end = line.at + indent + key;
        match body.last() {
            Some(b'{' | b'[') if depth < DEEPEST => {
                let own = terms_of(hits.iter().filter(|hit| hit.at < key_end));
                self.open(line.start, own, &body[..key], body.ends_with(b"["));
                // Such a line holds nothing but a key.
            }
            _ => self.leaf(line, hits, window, Some(&body[..key])),
        }
    }

    /// Counts a child of the innermost container. Returns the length of the child's key in bytes.
    fn enter(&mut self, body: &[u8]) -> usize {
        let Some(parent) = self.frames.last_mut() else {
            return 0;
        };
        parent.children += 1;
        match parent.is_array {
            true => 0,
            false => string_end(body).unwrap_or(0),
        }
    }

    fn open(&mut self, start: u64, own: Terms, key: &[u8], is_array: bool) {
        let above = self.frames.last();
        let frame = Frame {
            start,
            is_array,
            key: String::from_utf8_lossy(&key[..key.len().min(LONGEST_KEY + 1)]).into_owned(),
            index: above.map_or(0, |parent| parent.children.saturating_sub(1)),
            own,
            inherited: own | above.map_or(0, |parent| parent.inherited),
            ..Frame::default()
        };
        self.frames.push(frame);
    }

    /// Handles a line that is a value or a part of one.
    fn leaf(&mut self, line: Line<'_>, hits: &[Hit], window: &[u8], key: Option<&[u8]>) {
        self.found.units += 1;
        if let Some(parent) = self.frames.last_mut() {
            parent.leaf_count += 1;
        }
        let is_identity = key.is_some_and(names_its_object)
            && self
                .frames
                .last()
                .is_some_and(|parent| parent.identity.is_none());
        if hits.is_empty() && !is_identity {
            return;
        }
        let inherited = self.frames.last().map_or(0, |parent| parent.inherited);
        self.found.count(terms_of(hits.iter()) & !inherited, 1);
        self.member(line, hits, key);
        for (start, end, of_piece) in pieces(line, hits, window) {
            self.piece(start, end, of_piece, inherited, key);
        }
        if is_identity && line.text.len() <= SOFT_CHARS {
            let path = self.path(key);
            let end = line.start + line.text.len() as u64 + 1;
            if let Some(parent) = self.frames.last_mut() {
                parent.identity = Some(Leaf {
                    start: line.start,
                    end,
                    terms: inherited,
                    path,
                });
            }
        }
    }

    /// Records a line whose value occurs in the question, or whose key shares terms with it.
    fn member(&mut self, line: Line<'_>, hits: &[Hit], key: Option<&[u8]>) {
        let key = key.filter(|key| !key.is_empty() && key.len() <= LONGEST_KEY);
        let Some((parent, key)) = self.frames.last_mut().zip(key) else {
            return;
        };
        if line.text.len() > SOFT_CHARS {
            return;
        }
        let indent = line.text.iter().take_while(|byte| **byte == b' ').count();
        let value = indent + key.len();
        let (of_key, of_value) =
            hits.split_at(hits.partition_point(|hit| hit.at < line.at + value));
        let member = |hits: &[Hit]| Member {
            start: line.start,
            end: line.start + line.text.len() as u64 + 1,
            terms: terms_of(hits.iter()),
            key: String::from_utf8_lossy(key).into_owned(),
        };
        if !of_value.is_empty() && self.question.names(&line.text[value..]) {
            parent.entity.name(member(of_value));
        }
        if !of_key.is_empty() {
            parent.entity.ask(member(of_key));
        }
    }

    fn piece(&mut self, start: u64, end: u64, hits: &[Hit], inherited: Terms, key: Option<&[u8]>) {
        let own = terms_of(hits.iter());
        let terms = own | inherited;
        let count = u32::try_from(hits.len()).unwrap_or(u32::MAX);
        let rank = rank(count, terms, end - start);
        self.found.tally(terms, 1);
        let is_new = self
            .frames
            .last()
            .is_some_and(|parent| is_telling(&parent.leaves, terms));
        let is_wanted = self
            .found
            .wants(terms, rank, || template(&self.frames, key));
        if is_new || is_wanted {
            let path = self.path(key);
            if is_wanted {
                self.found.keep(Candidate {
                    start,
                    end,
                    terms,
                    rank,
                    template: template(&self.frames, key),
                    json: Some(Box::new(self.node(start, path.clone()))),
                });
            }
            let leaf = Leaf {
                start,
                end,
                terms,
                path,
            };
            if let Some(parent) = self.frames.last_mut() {
                remember(&mut parent.leaves, leaf);
            }
        }
        if let Some(parent) = self.frames.last_mut() {
            parent.below |= own;
            parent.hits = parent.hits.saturating_add(count);
            parent.widest = parent.widest.max(terms.count_ones());
        }
    }

    /// Closes the innermost container, which ends before byte `end`.
    fn close(&mut self, end: u64) {
        self.keep_entity(end);
        let Some(mut frame) = self.frames.pop() else {
            return;
        };
        let above = self.frames.last().map_or(0, |parent| parent.inherited);
        self.found.count(frame.own & !above, frame.leaf_count);
        let terms = frame.inherited | frame.below;
        let bytes = end - frame.start;
        let meets = terms.count_ones() > frame.widest && bytes <= LARGEST_RECORD;
        if (frame.below != 0 || frame.own != 0) && meets {
            let rank = rank(frame.hits, terms, bytes);
            let template = template(&self.frames, Some(frame.key.as_bytes()));
            if self.found.wants(terms, rank, || template) {
                let (start, leaves, identity) =
                    (frame.start, frame.leaves.clone(), frame.identity.clone());
                // The last step of the path is the container's own key.
                self.frames.push(frame);
                let node = self.node(start, self.path(None));
                let Some(closed) = self.frames.pop() else {
                    return;
                };
                frame = closed;
                self.found.keep(Candidate {
                    start,
                    end,
                    terms,
                    rank,
                    template,
                    json: Some(Box::new(Node {
                        leaves,
                        identity,
                        ..node
                    })),
                });
            }
        }
        self.hand_up(frame, terms, end);
    }

    /// Keeps the innermost container if the question names it.
    fn keep_entity(&mut self, end: u64) {
        let path = |frames| Some(path_of(frames)).filter(|path| !path.contains(UNTOLD));
        let Some((frame, leaves)) = self.frames.last().and_then(|frame| {
            let leaves = frame.entity.leaves(|| path(&self.frames))?;
            Some((frame, leaves))
        }) else {
            return;
        };
        let of_leaves = leaves.iter().fold(0, |terms, leaf| terms | leaf.terms);
        let mut node = self.node(frame.start, self.path(None));
        (node.leaves, node.is_entity) = (leaves, true);
        let place = Candidate {
            start: frame.start,
            end,
            terms: of_leaves | frame.inherited,
            // Above every rank of other candidates; objects nearer to the root rank higher.
            rank: (2 * DEEPEST - self.frames.len()) as f64,
            template: template(&self.frames, None),
            json: Some(Box::new(node)),
        };
        self.found.keep(place);
    }

    /// Adds the findings of a closed container to its parent.
    fn hand_up(&mut self, frame: Frame, terms: Terms, end: u64) {
        let Some(parent) = self.frames.last_mut() else {
            return;
        };
        parent.leaf_count += frame.leaf_count;
        let is_small = end - frame.start <= LARGEST_MEMBER;
        if frame.own != 0 && is_small && frame.key.len() <= LONGEST_KEY {
            parent.entity.ask(Member {
                start: frame.start,
                end,
                terms: frame.own,
                key: frame.key,
            });
        }
        parent.hits = parent.hits.saturating_add(frame.hits);
        if frame.below | frame.own != 0 {
            parent.below |= frame.below | frame.own;
            parent.widest = parent.widest.max(terms.count_ones());
        }
        for leaf in frame.leaves {
            remember(&mut parent.leaves, leaf);
        }
    }

    /// Returns the facts about a place that begins at byte `start` of the innermost container.
    fn node(&self, start: u64, path: String) -> Node {
        let mut around = Vec::new();
        for (depth, frame) in self.frames.iter().enumerate().rev() {
            if frame.start < start && !frame.is_array && around.len() < AROUND {
                around.push((frame.start, path_of(&self.frames[..=depth]).len()));
            }
        }
        let parent = self.frames.last();
        Node {
            path,
            leaves: Vec::new(),
            around,
            identity: parent.and_then(|parent| parent.identity.clone()),
            is_entity: false,
        }
    }

    /// Returns the path of the line with `key` in the innermost container; without a key, the path
    /// of that container.
    fn path(&self, key: Option<&[u8]>) -> String {
        let mut path = path_of(&self.frames);
        if let (Some(key), Some(parent)) = (key, self.frames.last()) {
            match parent.is_array {
                true => push_elements(
                    &mut path,
                    parent.children.saturating_sub(1),
                    parent.children,
                ),
                false => step_key(&mut path, &String::from_utf8_lossy(key)),
            }
        }
        if path.contains(UNTOLD) {
            path.clear();
        } else if path.is_empty() && (key.is_some() || !self.frames.is_empty()) {
            path.push('.');
        }
        path
    }
}

/// Returns how good a place is among those with the same terms.
fn rank(hits: u32, terms: Terms, bytes: u64) -> f64 {
    let most = terms.count_ones() + 2;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    f64::from(hits.min(most)) / dilution(bytes)
}

fn terms_of<'h>(hits: impl Iterator<Item = &'h Hit>) -> Terms {
    hits.fold(0, |terms, hit| terms | hit.terms)
}

fn path_of(frames: &[Frame]) -> String {
    let mut path = String::new();
    for pair in frames.windows(2) {
        match pair[0].is_array {
            true => push_elements(&mut path, pair[1].index, pair[1].index + 1),
            false => step_key(&mut path, &pair[1].key),
        }
    }
    path
}

/// Hashes depth and key: members with one name in the elements of one array share the hash.
fn template(frames: &[Frame], key: Option<&[u8]>) -> u64 {
    let mut hasher = FxHasher::default();
    (frames.len(), key).hash(&mut hasher);
    hasher.finish()
}
