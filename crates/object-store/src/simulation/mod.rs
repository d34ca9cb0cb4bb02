//! The protocol between stores and their bucket under a scheduler that decides every step.
//!
//! Several replicas store, read, pin, use and remove artifacts and sweep the bucket. Between any two
//! requests a replica may be killed. Requests may be lost, carried out without an answer, carried out
//! twice or long after their sender gave up, and overtake each other; a replica may be cut off, and
//! its clock may be wrong by weeks. All of it follows from a seed.
//!
//! After each change of the bucket the test checks that
//!
//! - a replica that reads a manifest can read all pieces of its artifact, with the right bytes,
//! - nothing is removed before its time, or while it is pinned,
//! - what is gone stays gone, and what was never completed never appears,
//! - another tenant of the bucket, who tries the same handles and sweeps its own part, reaches nothing and
//!   learns nothing,
//! - after everything has calmed down, nothing is left over.
//!
//! `SPILLGATE_SEEDS=10000` runs more seeds, `SPILLGATE_SEED=7` one, with a list of its steps.

mod known;
mod world;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use futures_util::task::noop_waker;
use object_store::path::Path;
use parking_lot::Mutex;
use spillgate_artifact::{ByteSource, Handle, Timestamp};
use spillgate_store::{ArtifactFiles, Gone, Partition, Piece, StoreError};

use self::known::{Known, Made, Store};
use self::world::{Op, Refused, Wire, World};
use crate::again::Again;
use crate::bucket::Bucket;
use crate::layout::Layout;
use crate::swap::Swap;
use crate::sweep::{SweepRules, tombstone_of};

const HOUR: Duration = Duration::from_secs(3600);

const RULES: SweepRules = SweepRules {
    max_age: Some(Duration::from_secs(1800)),
    quota: Some(30),
    orphan_age: Duration::from_secs(1200),
    tombstone_age: Some(Duration::from_secs(100 * 3600)),
    fresh: Duration::from_secs(5),
    unrecorded: Duration::from_secs(30),
    most: 4,
};

/// Time between two sweeps.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// Artifacts that are pinned, used and removed: the newest ones, so that tasks meet.
const NEWEST: usize = 4;

/// A request that arrives later than this is refused, because its signature is too old.
const LATEST: Duration = Duration::from_secs(4 * 3600);

/// Steps of a seed.
const STEPS: usize = 600;

/// Seeds that an ordinary test runs.
const SEEDS: u64 = 200;

/// Random numbers that follow from a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }
}

/// What a replica does.
#[derive(Debug, Clone, Copy)]
enum Task {
    Put(Handle),
    Read(Handle),
    Pin(Handle, bool),
    Touch(Handle),
    Remove(Handle),
    Sweep,
    /// Another tenant tries a handle, in one of several ways.
    Foreign(Handle, u64),
    /// Another tenant sweeps its part of the bucket.
    ForeignSweep,
}

type Running = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

struct Replica {
    bucket: Arc<Bucket>,
    /// The part of another tenant in the same bucket.
    foreign: Arc<Bucket>,
    /// How far its clock is ahead or behind.
    skew: i64,
    /// The tasks at work, when they began, and whether something may have happened for them.
    tasks: Vec<(Task, SystemTime, Running)>,
    /// Artifacts of which it has a copy.
    cache: Arc<Mutex<BTreeMap<Handle, Vec<u8>>>>,
    is_cut_off: bool,
}

/// How often things go wrong, in percent.
#[derive(Debug, Clone, Copy)]
struct Weather {
    lost: u64,
    unanswered: u64,
    late: u64,
    twice: u64,
    crash: u64,
    cut: u64,
}

struct Simulation {
    random: Random,
    world: Arc<Mutex<World>>,
    layout: Layout,
    replicas: Vec<Replica>,
    known: Known,
    weather: Weather,
    log: Option<Vec<String>>,
}

impl Simulation {
    fn new(seed: u64, is_logged: bool) -> Self {
        let mut random = Random(seed);
        let world = Arc::new(Mutex::new(World::new()));
        let [layout, other] = ["a", "b"].map(|letter| {
            let tenant = Partition::parse(&format!("t-{}", letter.repeat(32))).unwrap();
            Layout::below(&Path::default()).of(&tenant)
        });
        let count = 2 + random.index(3);
        let replicas = (0..count)
            .map(|replica| {
                let wire = Wire {
                    world: Arc::clone(&world),
                    replica,
                };
                let days = i64::try_from(random.below(41)).unwrap() - 20;
                let bucket = Bucket {
                    objects: Arc::new(wire),
                    layout: layout.clone(),
                    swap: Swap::Conditional,
                    place: "simulation".into(),
                    part: 7,
                    again: Again {
                        time: HOUR,
                        pause: Duration::ZERO,
                    },
                    observer: None,
                };
                Replica {
                    foreign: Arc::new(Bucket {
                        layout: other.clone(),
                        ..bucket.clone()
                    }),
                    bucket: Arc::new(bucket),
                    skew: days * 86_400,
                    tasks: Vec::new(),
                    cache: Arc::default(),
                    is_cut_off: false,
                }
            })
            .collect();
        // Some seeds have bad weather, some have fair.
        let mut rate = |most| random.below(most);
        let weather = Weather {
            lost: rate(6),
            unanswered: rate(6),
            late: rate(6),
            twice: rate(6),
            crash: rate(6),
            cut: rate(4),
        };
        Self {
            random,
            world,
            known: Known::new(layout.clone()),
            layout,
            replicas,
            weather,
            log: is_logged.then(Vec::new),
        }
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            let now = self.world.lock().now;
            let since = now.duration_since(world::epoch()).unwrap().as_secs();
            log.push(format!("{since:>7} s  {}", what()));
        }
    }

    /// Runs the steps and then calms everything down. Returns what is violated.
    fn run(&mut self, steps: usize) -> Result<(), String> {
        for _ in 0..steps {
            self.step()?;
        }
        self.calm()
    }

    fn step(&mut self) -> Result<(), String> {
        match self.random.below(100) {
            0..25 => self.begin(),
            25..85 => self.deliver()?,
            85..90 => self.apply_late()?,
            _ => self.pass_time(),
        }
        if self.random.chance(self.weather.crash) && self.random.chance(30) {
            self.crash();
        }
        if self.random.chance(self.weather.cut) {
            let replica = self.random.index(self.replicas.len());
            let is_cut_off = self.random.chance(40);
            self.replicas[replica].is_cut_off = is_cut_off;
            self.note(|| format!("replica {replica} cut off: {is_cut_off}"));
        }
        self.poll()
    }

    fn pass_time(&mut self) {
        let seconds = match self.random.below(40) {
            0 => self.random.below(12 * 3600),
            1..4 => self.random.below(3600),
            _ => self.random.below(3),
        };
        let mut world = self.world.lock();
        world.now += Duration::from_secs(seconds);
        let now = world.now;
        world
            .late
            .retain(|(sent, _)| now.duration_since(*sent).unwrap() < LATEST);
    }

    fn handle(&mut self) -> Option<Handle> {
        let all = self.known.newest(NEWEST);
        (!all.is_empty()).then(|| all[self.random.index(all.len())])
    }

    /// Starts a task of a replica.
    fn begin(&mut self) {
        let replica = self.random.index(self.replicas.len());
        if self.replicas[replica].tasks.len() >= 3 {
            return;
        }
        let chosen = self.random.below(100);
        let task = match chosen {
            0..15 => {
                let letters = (0..14)
                    .map(|_| char::from(b'a' + u8::try_from(self.random.below(26)).unwrap()));
                let handle: Handle = letters.collect::<String>().parse().unwrap();
                let made = Made::new(handle, self.random.below(3), self.random.below(30));
                self.known.made(handle, made);
                Some(Task::Put(handle))
            }
            15..35 => self.handle().map(Task::Read),
            35..55 => {
                let pinned = self.random.chance(50);
                self.handle().map(|handle| Task::Pin(handle, pinned))
            }
            55..75 => self.handle().map(Task::Touch),
            75..78 => self.handle().map(Task::Remove),
            78..84 => {
                let way = self.random.below(4);
                self.handle().map(|handle| Task::Foreign(handle, way))
            }
            84..86 => Some(Task::ForeignSweep),
            _ => Some(Task::Sweep),
        };
        if let Some(task) = task {
            self.start(replica, task);
        }
    }

    fn start(&mut self, replica: usize, task: Task) {
        self.note(|| format!("replica {replica} begins {task:?}"));
        self.known.begun(task);
        let now = self.world.lock().now;
        let one = &self.replicas[replica];
        let bucket = Arc::clone(&one.bucket);
        let own = match u64::try_from(one.skew) {
            Ok(ahead) => now + Duration::from_secs(ahead),
            Err(_) => now - Duration::from_secs(one.skew.unsigned_abs()),
        };
        let running: Running = match task {
            Task::Put(handle) => {
                let files = self.known.files(handle);
                Box::pin(async move { bucket.put(handle, &files).await })
            }
            Task::Read(handle) => {
                let made = self.known.files(handle);
                let cache = Arc::clone(&one.cache);
                Box::pin(async move { read(&bucket, handle, &made, &cache).await })
            }
            Task::Pin(handle, pinned) => {
                Box::pin(async move { bucket.rewrite(handle, Some(pinned), &|_| Ok(())).await })
            }
            Task::Touch(handle) => {
                Box::pin(async move { bucket.rewrite(handle, None, &|_| Ok(())).await })
            }
            Task::Remove(handle) => Box::pin(async move {
                let why = (Gone::Removed, Timestamp::new(own));
                bucket
                    .remove(handle, why, &|bytes| Ok(tombstone_of(bytes)))
                    .await
            }),
            Task::Sweep => Box::pin(async move { sweep(&bucket, own).await }),
            Task::ForeignSweep => {
                let foreign = Arc::clone(&one.foreign);
                Box::pin(async move { sweep(&foreign, own).await })
            }
            Task::Foreign(handle, way) => {
                let (foreign, made) = (Arc::clone(&one.foreign), self.known.files(handle));
                Box::pin(async move { tried(&foreign, handle, &made, way).await })
            }
        };
        self.replicas[replica].tasks.push((task, now, running));
    }

    /// Answers one request that waits, in one of many ways.
    fn deliver(&mut self) -> Result<(), String> {
        let ids: Vec<u64> = {
            let world = self.world.lock();
            let waiting = world.requests.iter();
            waiting
                .filter(|(_, one)| one.answer.is_none())
                .map(|(id, _)| *id)
                .collect()
        };
        if ids.is_empty() {
            return Ok(());
        }
        let id = ids[self.random.index(ids.len())];
        let (op, replica) = {
            let world = self.world.lock();
            (world.requests[&id].op.clone(), world.requests[&id].replica)
        };
        let Weather {
            lost,
            unanswered,
            late,
            twice,
            ..
        } = self.weather;
        let mut dice = self.random.below(100);
        let mut falls = |percent: u64| {
            let is_it = dice < percent;
            dice = dice.checked_sub(percent).unwrap_or(u64::MAX);
            is_it
        };
        let is_lost = self.replicas[replica].is_cut_off || falls(lost);
        if is_lost {
            self.note(|| format!("{replica}: lost      {}", shown(&op)));
            self.world.lock().answer(id, Err(Refused::Lost));
        } else if falls(unanswered) {
            self.note(|| format!("{replica}: no answer {}", shown(&op)));
            drop(self.world.lock().apply(&op));
            self.world.lock().answer(id, Err(Refused::Lost));
        } else if falls(late) {
            self.note(|| format!("{replica}: will come late {}", shown(&op)));
            let mut world = self.world.lock();
            let now = world.now;
            world.late.push((now, op));
            world.answer(id, Err(Refused::Lost));
        } else if falls(twice) {
            // The client did not get the first answer, and asks again; others may come in between.
            self.note(|| format!("{replica}: first of two {}", shown(&op)));
            drop(self.world.lock().apply(&op));
        } else {
            self.note(|| format!("{replica}: answered  {}", shown(&op)));
            let mut world = self.world.lock();
            let answer = world.apply(&op);
            world.answer(id, answer);
        }
        self.check()
    }

    fn apply_late(&mut self) -> Result<(), String> {
        let op = {
            let mut world = self.world.lock();
            let count = world.late.len();
            (count > 0).then(|| {
                let at = self.random.index(count);
                world.late.swap_remove(at).1
            })
        };
        if let Some(op) = op {
            self.note(|| format!("late arrives {}", shown(&op)));
            drop(self.world.lock().apply(&op));
        }
        self.check()
    }

    fn crash(&mut self) {
        let replica = self.random.index(self.replicas.len());
        self.note(|| format!("replica {replica} is killed"));
        self.replicas[replica].tasks.clear();
        if self.random.chance(50) {
            self.replicas[replica].cache.lock().clear();
        }
        let mut world = self.world.lock();
        let now = world.now;
        let ids: Vec<u64> = world
            .requests
            .iter()
            .filter(|(_, one)| one.replica == replica)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            let request = world.requests.remove(&id).unwrap();
            if request.answer.is_none() && self.random.chance(50) {
                world.late.push((now, request.op));
            }
        }
    }

    /// Lets all tasks go on whose requests were answered.
    fn poll(&mut self) -> Result<(), String> {
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        for replica in 0..self.replicas.len() {
            let mut at = 0;
            while at < self.replicas[replica].tasks.len() {
                let (task, began, running) = &mut self.replicas[replica].tasks[at];
                let (task, began) = (*task, *began);
                match running.as_mut().poll(&mut context) {
                    Poll::Pending => at += 1,
                    Poll::Ready(result) => {
                        drop(self.replicas[replica].tasks.remove(at));
                        let told = match &result {
                            Ok(()) => "done".to_owned(),
                            Err(error) => error.to_string(),
                        };
                        self.note(|| format!("replica {replica} ends {task:?}: {told}"));
                        self.known.ended(task, began, &result)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        let mut world = self.world.lock();
        let changed = std::mem::take(&mut world.changed);
        for path in changed {
            if let Some((handle, _)) = self.layout.parse(&path) {
                self.known.check(handle, &world, &RULES)?;
            }
        }
        Ok(())
    }

    /// Lets everything end, and checks that nothing is left over.
    fn calm(&mut self) -> Result<(), String> {
        self.weather = Weather {
            lost: 0,
            unanswered: 0,
            late: 0,
            twice: 0,
            crash: 0,
            cut: 0,
        };
        self.world.lock().late.clear();
        for replica in &mut self.replicas {
            replica.is_cut_off = false;
        }
        self.finish()?;
        for handle in self.known.handles() {
            if matches!(self.known.store_of(handle), Store::Stored) {
                self.start(0, Task::Read(handle));
                self.finish()?;
            }
        }
        // Everything expires, at last the tombstones. Each sweep removes only so many.
        self.replicas[0].skew = 0;
        for _ in 0..self.known.handles().len() + 3 {
            self.world.lock().now += HOUR * 60;
            self.start(0, Task::Sweep);
            self.finish()?;
        }
        let world = self.world.lock();
        for path in world.paths() {
            let Some((handle, _)) = self.layout.parse(path) else {
                continue;
            };
            if !self.known.is_pinned(handle, &world) {
                return Err(format!("{path} is left over"));
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.poll()?;
        let mut turns = 0;
        while self
            .replicas
            .iter()
            .any(|replica| !replica.tasks.is_empty())
        {
            self.deliver()?;
            self.poll()?;
            turns += 1;
            if turns > 100_000 {
                return Err("a task does not end".to_owned());
            }
        }
        Ok(())
    }
}

async fn sweep(bucket: &Bucket, own: SystemTime) -> Result<(), StoreError> {
    if let Some(time) = bucket.begin_sweep(SWEEP_EVERY, own).await? {
        bucket
            .sweep(&RULES, None, time, Timestamp::new(own))
            .await?;
    }
    Ok(())
}

/// Tries an artifact that a tenant does not have.
async fn tried(
    bucket: &Bucket,
    handle: Handle,
    made: &ArtifactFiles,
    way: u64,
) -> Result<(), StoreError> {
    match way {
        0 => read(bucket, handle, made, &Mutex::default()).await,
        1 => bucket.rewrite(handle, Some(true), &|_| Ok(())).await,
        2 => {
            let why = (Gone::Removed, Timestamp::new(world::epoch()));
            bucket
                .remove(handle, why, &|bytes| Ok(tombstone_of(bytes)))
                .await
        }
        _ => {
            bucket
                .fetch(handle, (Piece::Body, 0), &mut Vec::new())
                .await
        }
    }
}

/// Reads an artifact as a store does: its manifest from the bucket, then its pieces, from the cache
/// if they are there.
async fn read(
    bucket: &Bucket,
    handle: Handle,
    made: &ArtifactFiles,
    cache: &Mutex<BTreeMap<Handle, Vec<u8>>>,
) -> Result<(), StoreError> {
    bucket.manifest(handle).await?;
    let wrong = |what: &str| StoreError::Damaged {
        path: handle.to_string().into(),
        what: what.to_owned(),
    };
    let expected: Vec<u8> = made
        .pieces
        .iter()
        .flat_map(|(_, bytes)| whole(bytes))
        .collect();
    if let Some(copy) = cache.lock().get(&handle) {
        return match *copy == expected {
            true => Ok(()),
            false => Err(wrong("the copy is another artifact")),
        };
    }
    let mut all = Vec::new();
    for (piece, bytes) in &made.pieces {
        let mut got = Vec::new();
        // The body in parts, as a look-up reads it.
        match piece {
            Piece::Body if bytes.len() > 3 => {
                let (len, half) = (bytes.len(), bytes.len() / 2);
                got.extend(bucket.read(handle, *piece, (0, half), len).await?);
                got.extend(bucket.read(handle, *piece, (half, len), len).await?);
            }
            _ => bucket.fetch(handle, (*piece, 0), &mut got).await?,
        }
        all.extend(got);
    }
    if all != expected {
        return Err(wrong("other bytes were read"));
    }
    cache.lock().insert(handle, all);
    Ok(())
}

fn whole(bytes: &Arc<dyn ByteSource>) -> Vec<u8> {
    bytes.bytes(0, u64::MAX).unwrap()
}

fn shown(op: &Op) -> String {
    match op {
        Op::Put { path, mode, .. } => {
            let mode = match mode {
                object_store::PutMode::Overwrite => "overwrite",
                object_store::PutMode::Create => "create",
                object_store::PutMode::Update(_) => "update",
            };
            format!("{mode} {path}")
        }
        Op::Get { path, .. } => format!("get {path}"),
        Op::Delete { path } => format!("delete {path}"),
        Op::List { .. } => "list".to_owned(),
        Op::Begin => "begin upload".to_owned(),
        Op::Part { upload, number, .. } => format!("part {number} of upload {upload}"),
        Op::Complete { path, .. } => format!("complete {path}"),
        Op::Abort { upload } => format!("abort upload {upload}"),
    }
}

/// Runs a seed. If it fails, shortens it and returns what it did.
fn failure(seed: u64) -> Option<String> {
    let wrong = Simulation::new(seed, false).run(STEPS).err()?;
    // Calming down after fewer steps may show the same failure.
    let shortest = (0..=STEPS).find(|&steps| Simulation::new(seed, false).run(steps).is_err());
    let shortest = shortest.unwrap_or(STEPS);
    let mut again = Simulation::new(seed, true);
    let what = again.run(shortest).err().unwrap_or(wrong);
    let log = again.log.unwrap_or_default();
    let (count, log) = (log.len(), log.join("\n"));
    Some(format!(
        "seed {seed} fails after {shortest} steps ({count} events): {what}\n{log}"
    ))
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn no_seed_breaks_the_protocol() {
    let (first, count) = match number("SPILLGATE_SEED") {
        Some(seed) => (seed, 1),
        None => (0, number("SPILLGATE_SEEDS").unwrap_or(SEEDS)),
    };
    let failures: Vec<String> = (first..first + count).filter_map(failure).collect();
    let shortest = failures.iter().min_by_key(|failure| failure.len());
    if let Some(shortest) = shortest {
        panic!(
            "{} of {count} seeds fail; the shortest:\n{shortest}",
            failures.len()
        );
    }
    if count == 1 {
        let mut again = Simulation::new(first, true);
        again.run(STEPS).unwrap();
        println!("{}", again.log.unwrap().join("\n"));
    }
}

/// A simulation in which nothing happens proves nothing.
#[test]
fn the_seeds_reach_what_they_are_for() {
    let mut seen = known::Seen::default();
    for seed in 0..50 {
        let mut simulation = Simulation::new(seed, false);
        simulation.run(STEPS).unwrap();
        seen.add(&simulation.known.seen);
    }
    assert!(seen.is_enough(), "{seen:?}");
}
