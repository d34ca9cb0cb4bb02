//! Finds the paths of offsets in a JSON document.

use std::io;

use memchr::memchr;
use spillgate_artifact::Layout;
use spillgate_lookup::Artifact;
use spillgate_text::push_elements;

use crate::leaf::string_end;
use crate::path::{LONGEST_KEY, UNTOLD, step_key};
use crate::scan::WINDOW;

/// Containers deeper than this count as the one at this depth.
const DEEPEST: usize = 256;

/// Returns the jq paths of the members or elements that contain the bytes at `offsets` of the view.
/// A path is `None` before the document, if a key in it is longer than 1,000 bytes, and in a view
/// that is not a JSON document.
///
/// Makes one pass over the view, up to the last of the offsets, in windows of 512 KiB.
///
/// # Errors
///
/// Fails if the view cannot be read.
pub fn paths_at(artifact: &Artifact, offsets: &[u64]) -> io::Result<Vec<Option<String>>> {
    let mut paths = vec![None; offsets.len()];
    let view = artifact.view();
    let Some(&last) = offsets
        .iter()
        .max()
        .filter(|_| view.layout() == Layout::Json)
    else {
        return Ok(paths);
    };
    let mut wanted: Vec<(u64, usize)> = offsets.iter().copied().zip(0..).collect();
    wanted.sort_unstable();
    let mut wanted = wanted.into_iter().peekable();
    let mut tracker = PathTracker::default();
    let mut base = artifact.manifest().facts.view.prelude;
    while wanted.next_if(|(offset, _)| *offset < base).is_some() {}
    let mut is_begun = false;
    let mut buffer = Vec::new();
    while base <= last && base < view.bytes() {
        let stop = view.bytes().min(base + WINDOW);
        let text = view.source().window(base, stop, &mut buffer)?;
        let mut at = 0;
        while at < text.len() && base + at as u64 <= last {
            let newline = memchr(b'\n', &text[at..]);
            let end = newline.map_or(text.len(), |newline| at + newline + 1);
            if newline.is_none() && at > 0 && stop < view.bytes() {
                break; // the line is whole in the next window
            }
            let line = &text[at..end - usize::from(newline.is_some())];
            if !is_begun {
                tracker.begin(line);
            }
            if newline.is_some() {
                tracker.end(line);
            }
            // A line without an end continues in the next window.
            is_begun = newline.is_none();
            while let Some((_, of)) = wanted.next_if(|(offset, _)| *offset < base + end as u64) {
                paths[of] = tracker.path();
            }
            at = end;
        }
        base += at as u64;
    }
    Ok(paths)
}

/// The state of the pass through a document: its open containers and the last member.
#[derive(Debug, Default)]
struct PathTracker {
    open: Vec<Container>,
    /// The key or index of the last line; the container's, if the line ends one.
    member: Option<Step>,
    /// Whether the last line ends a container.
    is_closing: bool,
}

#[derive(Debug)]
struct Container {
    is_array: bool,
    children: u64,
    step: Option<Step>,
}

#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(u64),
}

impl PathTracker {
    /// Reads the start of a line of the document.
    fn begin(&mut self, text: &[u8]) {
        let indent = text.iter().take_while(|byte| **byte == b' ').count();
        let body = &text[indent..];
        let depth = (indent / 2).min(DEEPEST);
        self.is_closing = matches!(body.first(), Some(b'}' | b']'));
        if self.is_closing {
            self.open.truncate(depth + 1);
            // The end of a container has the container's path.
            self.member = self.open.pop().and_then(|closed| closed.step);
            return;
        }
        self.open.truncate(depth);
        self.member = self.open.last_mut().map(|parent| {
            parent.children += 1;
            if parent.is_array {
                return Step::Index(parent.children - 1);
            }
            // A key without an end is longer than the window.
            let end = string_end(body).unwrap_or(body.len());
            let key = &body[..end];
            let key = &key[..key.len().min(LONGEST_KEY + 1)];
            Step::Key(String::from_utf8_lossy(key).into_owned())
        });
    }

    /// Reads the end of a line.
    fn end(&mut self, text: &[u8]) {
        if let Some(opening @ (b'{' | b'[')) = text.last()
            && !self.is_closing
            && self.open.len() < DEEPEST
        {
            self.open.push(Container {
                is_array: *opening == b'[',
                children: 0,
                step: self.member.clone(),
            });
        }
    }

    /// Returns the path of the last line; `None` if a key in it is too long.
    fn path(&self) -> Option<String> {
        let mut steps: Vec<&Step> = self
            .open
            .iter()
            .filter_map(|one| one.step.as_ref())
            .collect();
        // A line that opens a container has the container's path.
        let is_open = self.open.last().is_some_and(|one| one.children == 0);
        steps.extend(self.member.as_ref().filter(|_| !is_open));
        let mut path = String::new();
        for step in steps {
            match step {
                Step::Index(index) => push_elements(&mut path, *index, *index + 1),
                Step::Key(key) => step_key(&mut path, key),
            }
        }
        match path.contains(UNTOLD) {
            true => None,
            false if path.is_empty() => Some(".".to_owned()),
            false => Some(path),
        }
    }
}
