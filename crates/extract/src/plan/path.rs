//! Tracks where in a JSON document a chunk is.
//!
//! It follows the document row by row. Only containers larger than a row are ever open, so the path
//! is short; levels below [`DEEPEST`] are left out.

use spillgate_text::{push_elements, push_key};

use super::rows::{Opened, Row, Shape};

/// Most levels of a path.
const DEEPEST: usize = 40;

/// The open containers at a place in a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    steps: Vec<Step>,
    /// Open levels beyond the limit.
    deeper: u64,
}

/// An open container.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    key: Option<String>,
    is_element: bool,
    is_array: bool,
    /// Its index in the container around it.
    index: u64,
    /// Its children so far.
    children: u64,
}

impl Place {
    /// Advances past a row.
    fn pass(&mut self, row: &Row) {
        match &row.shape {
            Shape::Whole { children } => self.count(*children),
            Shape::Opens(opened) => self.open(opened),
            Shape::Closes => self.close(),
        }
    }

    fn open(&mut self, opened: &Opened) {
        let index = self.steps.last().map_or(0, |parent| parent.children);
        self.count(1);
        if self.deeper > 0 || self.steps.len() == DEEPEST {
            self.deeper += 1;
            return;
        }
        self.steps.push(Step {
            key: opened.key.clone(),
            is_element: opened.is_element,
            is_array: opened.is_array,
            index,
            children: 0,
        });
    }

    fn close(&mut self) {
        match self.deeper {
            0 => drop(self.steps.pop()),
            _ => self.deeper -= 1,
        }
    }

    fn count(&mut self, children: u64) {
        if let Some(parent) = self.steps.last_mut().filter(|_| self.deeper == 0) {
            parent.children += children;
        }
    }

    /// Returns the path of the container at `depth`; shorter if a key is unknown.
    fn path(&self, depth: usize) -> Told {
        let mut told = Told::default();
        // The first container is the document itself.
        for step in self.steps.iter().take(depth).skip(1) {
            if !told.step(step) {
                break;
            }
        }
        told
    }

    /// Returns the path at which the next row begins.
    pub(crate) fn begins(&self) -> String {
        let mut told = self.path(self.steps.len());
        if let Some(parent) = self
            .steps
            .last()
            .filter(|step| step.is_array && self.deeper == 0)
        {
            told.range(parent.children, parent.children + 1);
        }
        told.finish()
    }
}

/// A path under construction.
#[derive(Debug, Clone, Default)]
struct Told {
    path: String,
    /// Whether the rest is unknown.
    is_cut: bool,
}

impl Told {
    fn step(&mut self, step: &Step) -> bool {
        match &step.key {
            _ if step.is_element => self.range(step.index, step.index + 1),
            Some(key) => push_key(&mut self.path, key),
            None => self.is_cut = true,
        }
        !self.is_cut
    }

    /// Appends the elements `from..to`.
    fn range(&mut self, from: u64, to: u64) {
        if !self.is_cut {
            push_elements(&mut self.path, from, to);
        }
    }

    fn finish(self) -> String {
        match self.path.is_empty() {
            true => ".".to_owned(),
            false => self.path,
        }
    }
}

/// What the rows of a chunk have in common.
#[derive(Debug)]
pub(crate) struct Common {
    place: Place,
    shared: Option<Shared>,
}

/// The innermost container that holds all values so far.
#[derive(Debug)]
struct Shared {
    depth: usize,
    /// The range of its children that hold these values.
    from: u64,
    to: u64,
    /// Its path, once it is closed, and whether it is an array.
    closed: Option<(Told, bool)>,
    low: Option<(usize, u64)>,
}

impl Common {
    /// A chunk begins at `place`.
    pub(crate) fn new(place: Place) -> Self {
        Self {
            place,
            shared: None,
        }
    }

    pub(crate) fn pass(&mut self, row: &Row) {
        let depth = self.place.steps.len();
        if row.shape == Shape::Closes && self.place.deeper == 0 {
            self.leave(depth);
        }
        self.place.pass(row);
        if let Shape::Whole { children } = row.shape {
            // A row without a child of its own continues the last one.
            let to = self.place.steps.last().map_or(0, |parent| parent.children);
            self.value(depth, to.saturating_sub(children.max(1)), to);
        }
    }

    /// Adds a value in the container at `depth`.
    fn value(&mut self, depth: usize, from: u64, to: u64) {
        let Some(shared) = &mut self.shared else {
            self.shared = Some(Shared {
                depth,
                from,
                to,
                closed: None,
                low: None,
            });
            return;
        };
        if let Some((low, index)) = shared.low.take() {
            (shared.depth, shared.from, shared.to) = (low, index, index + 1);
            shared.closed = None;
        }
        shared.to = match depth == shared.depth {
            true => shared.to.max(to),
            // In a container that is a child of the shared one.
            false => self
                .place
                .steps
                .get(shared.depth)
                .map_or(shared.to, |step| step.index + 1),
        };
    }

    /// The innermost container, at `depth`, closes.
    fn leave(&mut self, depth: usize) {
        let Some(shared) = &mut self.shared else {
            return;
        };
        let low = shared.low.map_or(shared.depth, |(low, _)| low);
        if depth > low || depth == 0 {
            return;
        }
        let step = &self.place.steps[depth - 1];
        if shared.closed.is_none() {
            shared.closed = Some((self.place.path(depth), step.is_array));
        }
        shared.low = Some((depth - 1, step.index));
    }

    /// Returns the path that all rows share, and the place where they end.
    pub(crate) fn finish(self) -> (String, Place) {
        let Some(shared) = self.shared else {
            let depth = self.place.steps.len();
            return (self.place.path(depth).finish(), self.place);
        };
        let (mut told, is_array) = shared.closed.unwrap_or_else(|| {
            let container = shared
                .depth
                .checked_sub(1)
                .and_then(|at| self.place.steps.get(at));
            let is_array = container.is_some_and(|step| step.is_array);
            (
                self.place.path(shared.depth),
                is_array && self.place.deeper == 0,
            )
        });
        if is_array && shared.to > shared.from {
            told.range(shared.from, shared.to);
        }
        (told.finish(), self.place)
    }
}
