//! What a simulation knows about each artifact, and what has to hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use spillgate_artifact::{ByteSource, Handle};
use spillgate_store::{Absent, ArtifactFiles, Piece, StoreError};

use super::Task;
use super::world::World;
use crate::layout::{Layout, Object};
use crate::sweep::SweepRules;

/// An artifact as a replica made it.
#[derive(Debug, Clone)]
pub(super) struct Made(ArtifactFiles);

impl Made {
    pub(super) fn new(handle: Handle, kind: u64, size: u64) -> Self {
        let bytes = |name: &str, size: u64| -> Arc<dyn ByteSource> {
            let text: Vec<u8> = format!("{name} of {handle} ").into_bytes();
            let len = usize::try_from(size).unwrap();
            Arc::new(text.into_iter().cycle().take(len).collect::<Vec<u8>>())
        };
        let mut pieces = vec![
            (Piece::Body, bytes("body", size)),
            (Piece::Index, bytes("index", size % 5)),
        ];
        if kind == 0 {
            pieces.push((Piece::View, bytes("view", size + 3)));
        }
        let manifest = format!("{{\"format\": 1, \"pinned\": false, \"of\": \"{handle}\"}}");
        Self(ArtifactFiles {
            manifest: manifest.into_bytes(),
            pieces,
        })
    }
}

/// What an artifact is in the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Missing,
    Stored,
    Gone,
    Barred,
}

#[derive(Debug)]
struct One {
    made: ArtifactFiles,
    store: Store,
    /// Whether its handle was shown.
    is_shown: bool,
    /// When it was last written, or used or pinned with success.
    used: SystemTime,
    /// Whether it is certainly pinned.
    is_pinned: bool,
    /// Pins that are not over.
    unpins: usize,
    is_removed: bool,
    gone_at: Option<SystemTime>,
}

/// What happened, over all.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Seen {
    stored: usize,
    unstored: usize,
    read: usize,
    expired: usize,
    evicted: usize,
    removed: usize,
    barred: usize,
    pinned: usize,
    foreign: usize,
}

impl Seen {
    pub(super) fn add(&mut self, other: &Self) {
        self.stored += other.stored;
        self.unstored += other.unstored;
        self.read += other.read;
        self.expired += other.expired;
        self.evicted += other.evicted;
        self.removed += other.removed;
        self.barred += other.barred;
        self.pinned += other.pinned;
        self.foreign += other.foreign;
    }

    pub(super) fn is_enough(&self) -> bool {
        let all = [
            self.stored,
            self.unstored,
            self.read,
            self.expired,
            self.evicted,
            self.removed,
            self.barred,
            self.pinned,
            self.foreign,
        ];
        all.iter().all(|&count| count >= 20)
    }
}

pub(super) struct Known {
    layout: Layout,
    all: BTreeMap<Handle, One>,
    order: Vec<Handle>,
    pub(super) seen: Seen,
}

impl Known {
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            layout,
            all: BTreeMap::new(),
            order: Vec::new(),
            seen: Seen::default(),
        }
    }

    pub(super) fn made(&mut self, handle: Handle, made: Made) {
        let one = One {
            made: made.0,
            store: Store::Missing,
            is_shown: false,
            used: SystemTime::UNIX_EPOCH,
            is_pinned: false,
            unpins: 0,
            is_removed: false,
            gone_at: None,
        };
        self.all.insert(handle, one);
        self.order.push(handle);
    }

    pub(super) fn handles(&self) -> Vec<Handle> {
        self.all.keys().copied().collect()
    }

    /// Returns the artifacts that were made last.
    pub(super) fn newest(&self, most: usize) -> Vec<Handle> {
        let from = self.order.len().saturating_sub(most);
        self.order[from..].to_vec()
    }

    pub(super) fn files(&self, handle: Handle) -> ArtifactFiles {
        self.all[&handle].made.clone()
    }

    pub(super) fn store_of(&self, handle: Handle) -> Store {
        self.all[&handle].store
    }

    /// Whether the manifest in the bucket is pinned.
    pub(super) fn is_pinned(&self, handle: Handle, world: &World) -> bool {
        let head = self.layout.path(handle, Object::Head);
        let value = world.bytes(&head).map(json);
        value.is_some_and(|value| value["pinned"] == true)
    }

    /// Notes that a task begins.
    pub(super) fn begun(&mut self, task: Task) {
        match task {
            Task::Pin(handle, false) => {
                let one = self.all.get_mut(&handle).unwrap();
                one.is_pinned = false;
                // Also a request that comes late ends the pin.
                one.unpins += 1;
            }
            Task::Remove(handle) => self.all.get_mut(&handle).unwrap().is_removed = true,
            _ => {}
        }
    }

    /// Judges how a task ended.
    pub(super) fn ended(
        &mut self,
        task: Task,
        began: SystemTime,
        result: &Result<(), StoreError>,
    ) -> Result<(), String> {
        if let Err(error @ StoreError::Damaged { .. }) = result {
            return Err(format!("{task:?}: {error}"));
        }
        if let Task::Foreign(handle, _) = task {
            return self.foreign_ended(handle, result);
        }
        let (Task::Put(handle)
        | Task::Read(handle)
        | Task::Pin(handle, _)
        | Task::Touch(handle)
        | Task::Remove(handle)) = task
        else {
            return Ok(());
        };
        let one = self.all.get_mut(&handle).unwrap();
        match (task, result) {
            (Task::Put(_), Ok(())) => {
                one.is_shown = true;
                self.seen.stored += 1;
                if !matches!(one.store, Store::Stored | Store::Gone) {
                    return Err(format!("{handle} was shown, and is {:?}", one.store));
                }
            }
            (Task::Put(_), Err(_)) => self.seen.unstored += 1,
            (Task::Read(_), Ok(())) => self.seen.read += 1,
            (
                Task::Read(_),
                Err(StoreError::Absent {
                    why: Absent::Never, ..
                }),
            ) if one.is_shown && one.gone_at.is_none() => {
                return Err(format!(
                    "{handle} was shown, and a reader is told it never was"
                ));
            }
            (Task::Pin(..) | Task::Touch(_), Ok(())) => {
                one.used = one.used.max(began);
                if one.gone_at.is_some_and(|at| at >= began) && !one.is_removed {
                    let taken = one.gone_at.unwrap();
                    // It may have been used, and removed at its time afterwards.
                    let age = taken.duration_since(began).unwrap_or_default();
                    if age < super::RULES.fresh {
                        return Err(format!("{handle} was used or pinned, and is gone"));
                    }
                }
                if matches!(task, Task::Pin(_, true)) && one.unpins == 0 {
                    one.is_pinned = true;
                    self.seen.pinned += 1;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Judges what another tenant got for a handle: it must be as if there were none.
    fn foreign_ended(
        &mut self,
        handle: Handle,
        result: &Result<(), StoreError>,
    ) -> Result<(), String> {
        self.seen.foreign += 1;
        match result {
            Ok(()) => Err(format!("another tenant reached {handle}")),
            Err(StoreError::Absent { why, .. }) if *why != Absent::Never => {
                Err(format!("another tenant is told about {handle}: {why}"))
            }
            Err(_) => Ok(()),
        }
    }

    /// Checks an artifact after one of its objects changed.
    pub(super) fn check(
        &mut self,
        handle: Handle,
        world: &World,
        rules: &SweepRules,
    ) -> Result<(), String> {
        let Some(one) = self.all.get_mut(&handle) else {
            return Err(format!("nobody made {handle}"));
        };
        let head = world.bytes(&self.layout.path(handle, Object::Head));
        let value = head.map(json);
        let mark = value.as_ref().and_then(|value| value.get("spillgate"));
        let store = match (&value, mark) {
            (None, _) => Store::Missing,
            (Some(_), None) => Store::Stored,
            (_, Some(mark)) if mark == "barred" => Store::Barred,
            _ => Store::Gone,
        };
        let before = std::mem::replace(&mut one.store, store);
        match (before, store) {
            (Store::Gone | Store::Barred, Store::Stored) => {
                return Err(format!("{handle} came back"));
            }
            (Store::Stored, Store::Missing | Store::Barred) => {
                return Err(format!("{handle} became {store:?}"));
            }
            (Store::Missing, Store::Barred) => {
                self.seen.barred += 1;
                if one.is_shown {
                    return Err(format!("{handle} was shown, and is barred"));
                }
            }
            (Store::Stored, Store::Gone) => {
                one.gone_at = Some(world.now);
                let age = world.now.duration_since(one.used).unwrap_or_default();
                let why = mark.and_then(|mark| mark["gone"]["why"].as_str());
                let (count, is_right) = match why {
                    Some("expired") => {
                        let is_old = age >= rules.max_age.unwrap();
                        (&mut self.seen.expired, is_old && !one.is_pinned)
                    }
                    Some("evicted") => {
                        let is_old = age >= rules.fresh;
                        (&mut self.seen.evicted, is_old && !one.is_pinned)
                    }
                    _ => (&mut self.seen.removed, one.is_removed),
                };
                *count += 1;
                if !is_right {
                    return Err(format!(
                        "{handle} is {} after {age:?}, pinned: {}",
                        why.unwrap_or("?"),
                        one.is_pinned
                    ));
                }
            }
            _ => {}
        }
        if store == Store::Stored {
            if before != Store::Stored {
                one.used = one.used.max(world.now);
            }
            for (piece, bytes) in &one.made.pieces {
                let path = self.layout.path(handle, Object::Piece(*piece));
                let expected = bytes.bytes(0, u64::MAX).unwrap();
                if world.bytes(&path).map(|bytes| &bytes[..]) != Some(&expected[..]) {
                    return Err(format!("{handle} has a manifest, but no right {piece:?}"));
                }
            }
        }
        Ok(())
    }
}

fn json(bytes: &Bytes) -> serde_json::Value {
    serde_json::from_slice(bytes).unwrap()
}
