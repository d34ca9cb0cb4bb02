//! A bucket and a network whose every step a scheduler decides.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::poll_fn;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, UploadPart,
};
use parking_lot::Mutex;

/// When the simulated time begins.
pub(super) fn epoch() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// A request of a client.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Put {
        path: Path,
        bytes: Bytes,
        mode: PutMode,
    },
    Get {
        path: Path,
        range: Option<Range<u64>>,
    },
    Delete {
        path: Path,
    },
    List {
        prefix: Path,
    },
    Begin,
    Part {
        upload: u64,
        number: usize,
        bytes: Bytes,
    },
    Complete {
        upload: u64,
        path: Path,
        parts: usize,
    },
    Abort {
        upload: u64,
    },
}

/// An answer of the bucket.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Done {
        e_tag: String,
    },
    Object {
        bytes: Bytes,
        meta: ObjectMeta,
        range: Range<u64>,
    },
    Listed(Vec<ObjectMeta>),
    Upload(u64),
}

/// Why a request has no answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Refused {
    Missing,
    Exists,
    Changed,
    /// No answer came: the request was or will be carried out, or never will be.
    Lost,
}

#[derive(Debug, Clone)]
struct Stored {
    bytes: Bytes,
    modified: SystemTime,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) replica: usize,
    pub(super) op: Op,
    pub(super) answer: Option<std::result::Result<Answer, Refused>>,
    waker: Waker,
}

/// The bucket, the time, and all requests.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: SystemTime,
    objects: BTreeMap<Path, Stored>,
    uploads: BTreeMap<u64, BTreeMap<usize, Bytes>>,
    next: u64,
    pub(super) requests: BTreeMap<u64, Waiting>,
    /// Requests nobody waits for any more, which may be carried out at any time.
    pub(super) late: Vec<(SystemTime, Op)>,
    /// What was written since the scheduler looked last.
    pub(super) changed: Vec<Path>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            now: epoch(),
            objects: BTreeMap::new(),
            uploads: BTreeMap::new(),
            next: 0,
            requests: BTreeMap::new(),
            late: Vec::new(),
            changed: Vec::new(),
        }
    }

    pub(super) fn bytes(&self, path: &Path) -> Option<&Bytes> {
        self.objects.get(path).map(|stored| &stored.bytes)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.objects.keys()
    }

    /// As in S3, the tag of an object follows from its content.
    fn tag(bytes: &Bytes) -> String {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        format!("{:x}", hasher.finish())
    }

    fn meta(path: &Path, stored: &Stored) -> ObjectMeta {
        // As in S3, a time has whole seconds.
        let since = stored.modified.duration_since(SystemTime::UNIX_EPOCH);
        let seconds = Duration::from_secs(since.unwrap_or_default().as_secs());
        ObjectMeta {
            location: path.clone(),
            last_modified: (SystemTime::UNIX_EPOCH + seconds).into(),
            size: stored.bytes.len() as u64,
            e_tag: Some(Self::tag(&stored.bytes)),
            version: None,
        }
    }

    fn write(&mut self, path: &Path, bytes: Bytes) -> Answer {
        let e_tag = Self::tag(&bytes);
        let modified = self.now;
        self.objects
            .insert(path.clone(), Stored { bytes, modified });
        self.changed.push(path.clone());
        Answer::Done { e_tag }
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, id: u64, answer: std::result::Result<Answer, Refused>) {
        let request = self.requests.get_mut(&id).unwrap();
        request.answer = Some(answer);
        request.waker.wake_by_ref();
    }

    /// Carries out a request.
    pub(super) fn apply(&mut self, op: &Op) -> std::result::Result<Answer, Refused> {
        match op {
            Op::Put { path, bytes, mode } => {
                let before = self.objects.get(path);
                match (mode, before) {
                    (PutMode::Create, Some(_)) => return Err(Refused::Exists),
                    (PutMode::Update(version), before) => {
                        let tag = before.map(|stored| Self::tag(&stored.bytes));
                        if tag.is_none() || tag != version.e_tag {
                            return Err(Refused::Changed);
                        }
                    }
                    _ => {}
                }
                Ok(self.write(path, bytes.clone()))
            }
            Op::Get { path, range } => {
                let stored = self.objects.get(path).ok_or(Refused::Missing)?;
                let size = stored.bytes.len() as u64;
                let range = range.clone().unwrap_or(0..size);
                let end = range.end.min(size);
                let part = usize::try_from(range.start).unwrap()..usize::try_from(end).unwrap();
                Ok(Answer::Object {
                    bytes: stored.bytes.slice(part),
                    meta: Self::meta(path, stored),
                    range: range.start..end,
                })
            }
            Op::Delete { path } => {
                self.objects.remove(path);
                self.changed.push(path.clone());
                Ok(Answer::Done {
                    e_tag: String::new(),
                })
            }
            Op::List { prefix } => {
                let all = self.objects.iter();
                let below = all.filter(|(path, _)| path.prefix_matches(prefix));
                Ok(Answer::Listed(
                    below.map(|(path, one)| Self::meta(path, one)).collect(),
                ))
            }
            Op::Begin => {
                self.next += 1;
                self.uploads.insert(self.next, BTreeMap::new());
                Ok(Answer::Upload(self.next))
            }
            Op::Part {
                upload,
                number,
                bytes,
            } => {
                let parts = self.uploads.get_mut(upload).ok_or(Refused::Missing)?;
                parts.insert(*number, bytes.clone());
                Ok(Answer::Done {
                    e_tag: String::new(),
                })
            }
            Op::Complete {
                upload,
                path,
                parts,
            } => {
                let found = self.uploads.get(upload).ok_or(Refused::Missing)?;
                if found.len() != *parts {
                    return Err(Refused::Missing);
                }
                let bytes: Vec<u8> = found.values().flatten().copied().collect();
                self.uploads.remove(upload);
                Ok(self.write(path, bytes.into()))
            }
            Op::Abort { upload } => {
                self.uploads.remove(upload);
                Ok(Answer::Done {
                    e_tag: String::new(),
                })
            }
        }
    }
}

/// The bucket as one replica reaches it.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) replica: usize,
}

impl Wire {
    /// Sends a request, and waits until the scheduler answers it.
    async fn ask(&self, op: Op) -> Result<Answer> {
        let path = match &op {
            Op::Put { path, .. }
            | Op::Get { path, .. }
            | Op::Delete { path }
            | Op::Complete { path, .. } => path.to_string(),
            _ => String::new(),
        };
        let mut id = None;
        let answer = poll_fn(|context| {
            let mut world = self.world.lock();
            let id = *id.get_or_insert_with(|| {
                world.next += 1;
                let id = world.next;
                let request = Waiting {
                    replica: self.replica,
                    op: op.clone(),
                    answer: None,
                    waker: context.waker().clone(),
                };
                world.requests.insert(id, request);
                id
            });
            let request = world.requests.get_mut(&id).unwrap();
            if request.answer.is_none() {
                request.waker.clone_from(context.waker());
                return Poll::Pending;
            }
            let request = world.requests.remove(&id).unwrap();
            Poll::Ready(request.answer.unwrap())
        })
        .await;
        answer.map_err(|refused| {
            let source: Box<dyn std::error::Error + Send + Sync> = "simulated".into();
            match refused {
                Refused::Missing => Error::NotFound { path, source },
                Refused::Exists => Error::AlreadyExists { path, source },
                Refused::Changed => Error::Precondition { path, source },
                Refused::Lost => Error::Generic {
                    store: "simulation",
                    source: Box::new(HttpError::new_boxed(HttpErrorKind::Interrupted, source)),
                },
            }
        })
    }

    async fn put(&self, op: Op) -> Result<PutResult> {
        match self.ask(op).await? {
            Answer::Done { e_tag } => Ok(PutResult {
                e_tag: Some(e_tag),
                version: None,
                extensions: <_>::default(),
            }),
            other => unreachable!("{other:?}"),
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("simulation")
    }
}

#[async_trait]
impl ObjectStore for Wire {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.put(Op::Put {
            path: location.clone(),
            bytes: payload.into(),
            mode: opts.mode,
        })
        .await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        match self.ask(Op::Begin).await? {
            Answer::Upload(upload) => Ok(Box::new(Upload {
                wire: self.clone(),
                path: location.clone(),
                id: upload,
                parts: 0,
            })),
            other => unreachable!("{other:?}"),
        }
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let range = match options.range {
            Some(object_store::GetRange::Bounded(range)) => Some(range),
            _ => None,
        };
        let path = location.clone();
        match self.ask(Op::Get { path, range }).await? {
            Answer::Object { bytes, meta, range } => Ok(GetResult {
                payload: GetResultPayload::Stream(stream::once(async move { Ok(bytes) }).boxed()),
                meta,
                range,
                attributes: <_>::default(),
                extensions: <_>::default(),
            }),
            other => unreachable!("{other:?}"),
        }
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let wire = self.clone();
        locations
            .then(move |path| {
                let wire = wire.clone();
                async move {
                    let path = path?;
                    wire.ask(Op::Delete { path: path.clone() }).await?;
                    Ok(path)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (wire, prefix) = (self.clone(), prefix.cloned().unwrap_or_default());
        let listed = async move { wire.ask(Op::List { prefix }).await };
        listed
            .map(|listed| match listed {
                Ok(Answer::Listed(all)) => stream::iter(all.into_iter().map(Ok)).boxed(),
                Ok(other) => unreachable!("{other:?}"),
                Err(error) => stream::once(async move { Err(error) }).boxed(),
            })
            .flatten_stream()
            .boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        unreachable!("the protocol does not use it")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        unreachable!("the protocol does not use it")
    }
}

#[derive(Debug)]
struct Upload {
    wire: Wire,
    path: Path,
    id: u64,
    parts: usize,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (wire, upload, number) = (self.wire.clone(), self.id, self.parts);
        self.parts += 1;
        let bytes = data.into();
        async move {
            let part = Op::Part {
                upload,
                number,
                bytes,
            };
            wire.ask(part).await.map(drop)
        }
        .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.wire
            .put(Op::Complete {
                upload: self.id,
                path: self.path.clone(),
                parts: self.parts,
            })
            .await
    }

    async fn abort(&mut self) -> Result<()> {
        let upload = self.id;
        self.wire.ask(Op::Abort { upload }).await.map(drop)
    }
}
