//! Lists the newest artifacts, finds handles by their first letters, and lists what a sweep may remove, each without
//! reading the manifests of all artifacts.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use spillgate_artifact::{Handle, Timestamp};

use crate::files::{FileStore, Paths};
use crate::open::readable_entries;
use crate::place::{ArtifactDirectory, stem_in};
use crate::recent::{Made, Recent, seconds};
use crate::survey::{Order, Survey, Unreadable, manifests};
use crate::{Candidate, Listed, StoreError};

/// The artifacts that were visited.
#[derive(Default)]
struct Visited {
    handles: HashSet<Handle>,
    last: Option<Order>,
    damaged: Vec<Unreadable>,
}

impl FileStore {
    /// Calls `visit` for each artifact, newest first, until it breaks. Reads all manifests only if it does not break
    /// before the end of the list of the newest artifacts.
    pub(crate) fn visit_newest(
        &self,
        visit: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> Result<Vec<Unreadable>, StoreError> {
        let mut visited = Visited::default();
        let recent = Recent::of(self.base());
        if let Some((made, is_all)) = recent.read() {
            let ended = self.visit_made(&made, &mut visited, visit);
            match ended {
                ControlFlow::Break(()) => return Ok(visited.damaged),
                ControlFlow::Continue(is_right) if is_all && is_right => return Ok(visited.damaged),
                ControlFlow::Continue(_) => {}
            }
        }
        let list = recent.begin();
        let survey = self.look_over()?;
        if let Some(id) = list {
            let listed = survey.listed.iter();
            let listed = listed.map(|one| (one.manifest.facts.created, one.manifest.handle));
            // Nothing but its files tells when a damaged artifact was made.
            let damaged = survey.damaged.iter().map(|one| (one.used, one.handle));
            let all = listed.chain(damaged).map(|(at, one)| (seconds(at), one));
            recent.finish(&id, all.collect());
        }
        for one in survey.listed.into_iter().rev() {
            let is_known = visited.handles.contains(&one.manifest.handle);
            // What was stored meanwhile is newer than what was visited.
            let is_new = || visited.last.is_some_and(|last| self.order(&one) > last);
            if !is_known && !is_new() && visit(one).is_break() {
                break;
            }
        }
        let damaged = survey.damaged.into_iter();
        let damaged = damaged.filter(|one| !visited.handles.contains(&one.handle));
        visited.damaged.extend(damaged);
        Ok(visited.damaged)
    }

    /// Visits artifacts that are given newest first. Continues with whether their times are right.
    fn visit_made(
        &self,
        made: &[Made],
        visited: &mut Visited,
        visit: &mut dyn FnMut(Listed) -> ControlFlow<()>,
    ) -> ControlFlow<(), bool> {
        for second in made.chunk_by(|one, other| one.0 == other.0) {
            let mut survey = Survey::default();
            for &(_, handle) in second {
                if let Ok(paths) = self.paths(handle) {
                    survey.add(self, handle, &paths);
                }
            }
            let is_right = |one: &Listed| seconds(one.manifest.facts.created) == second[0].0;
            if !survey.listed.iter().all(is_right) {
                return ControlFlow::Continue(false);
            }
            survey.listed.sort_by_cached_key(|one| self.order(one));
            visited.handles.extend(second.iter().map(|one| one.1));
            visited.damaged.extend(survey.damaged);
            for one in survey.listed.into_iter().rev() {
                visited.last = Some(self.order(&one));
                visit(one)?;
            }
        }
        ControlFlow::Continue(true)
    }

    /// Returns the handles of all artifacts, also of damaged ones, that begin with `beginning`, in the order of their
    /// names. Reads no manifest.
    pub(crate) fn handles_beginning_with(
        &self,
        beginning: &str,
    ) -> Result<Vec<Handle>, StoreError> {
        let mut found = Vec::new();
        for (place, directory) in self.places()? {
            let name = place.to_string();
            if name.starts_with(beginning) || beginning.starts_with(&name) {
                let handles = manifests(place, &directory)?.into_iter();
                found.extend(handles.filter(|handle| handle.to_string().starts_with(beginning)));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Returns what a sweep has to know about each artifact, from the names, sizes and times of the files. Whether an
    /// artifact is pinned is not known.
    pub(crate) fn swept_candidates(&self) -> Result<Vec<Candidate>, StoreError> {
        let mut all = Vec::new();
        for (place, directory) in self.places()? {
            all.extend(sized(place, &directory)?);
        }
        Ok(all)
    }
}

/// Returns the artifacts in a directory. Looks only at the files that exist.
pub(crate) fn sized(
    place: ArtifactDirectory,
    directory: &Path,
) -> Result<Vec<Candidate>, StoreError> {
    #[derive(Default)]
    struct Files {
        bytes: u64,
        used: Option<Timestamp>,
    }
    let mut stems: HashMap<Handle, Files> = HashMap::new();
    for entry in readable_entries(directory)? {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some(stem) = stem_in(name) else { continue };
        let Some(handle) = place.handle(stem) else {
            continue;
        };
        let suffix = &name[stem.len()..];
        let is_part = ["", ".raw", ".lines", ".derived"].contains(&suffix);
        if !is_part && suffix != ".json" {
            continue;
        }
        let Ok(found) = fs::symlink_metadata(entry.path()) else {
            continue;
        };
        let files = stems.entry(handle).or_default();
        match is_part {
            true => files.bytes += found.len(),
            false => files.used = found.modified().ok().map(Timestamp::new),
        }
    }
    let stored = stems.into_iter().filter_map(|(handle, files)| {
        files.used.map(|used| Candidate {
            handle,
            bytes: files.bytes,
            used,
            may_go: true,
        })
    });
    Ok(stored.collect())
}

impl Paths {
    /// Returns the total bytes of the raw part, the view, the index and what is derived from them.
    pub(crate) fn bytes(&self) -> u64 {
        let size = |path: &Path| fs::symlink_metadata(path).map_or(0, |found| found.len());
        size(&self.view) + size(&self.raw) + size(&self.lines) + size(&self.derived)
    }
}
