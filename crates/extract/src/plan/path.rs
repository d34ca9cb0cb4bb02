//! Tracks the position of a chunk in a JSON document.
//!
//! The document is followed row by row. Only containers larger than a row are ever open, so paths
//! are short. Levels deeper than [`DEEPEST`] are left out.

use spillgate_text::{push_elements, push_key};

use super::rows::{Opened, Row, Shape};

/// Maximum number of levels in a path.
const DEEPEST: usize = 40;

/// The open containers at a position in a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    steps: Vec<Step>,
    /// Number of open levels beyond the limit.
    deeper: u64,
}

/// An open container.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    key: Option<String>,
    is_element: bool,
    is_array: bool,
    /// The container's index in the enclosing container.
    index: u64,
    /// The number of the container's children so far.
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

    /// Returns the path of the container at `depth`. The path is shorter if a key is unknown.
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
    /// Whether the rest of the path is unknown.
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

/// Finds the path that all rows of a chunk have in common.
#[derive(Debug)]
pub(crate) struct Common {
    place: Place,
    shared: Option<Shared>,
}

/// The innermost container that holds all values so far.
#[derive(Debug)]
struct Shared {
    depth: usize,
    /// The range of the container's children that contain these values.
    from: u64,
    to: u64,
    /// The path of the container and whether it is an array, once the container is closed.
    closed: Option<(Told, bool)>,
    low: Option<(usize, u64)>,
}

impl Common {
    /// Starts a chunk at `place`.
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
            // If no child begins in the row, the row continues the last child.
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
            // The value is in a container that is a child of the shared container.
            false => self
                .place
                .steps
                .get(shared.depth)
                .map_or(shared.to, |step| step.index + 1),
        };
    }

    /// Handles the end of the innermost container, at `depth`.
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

    /// Returns the path that is common to all rows, and the position at which they end.
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
