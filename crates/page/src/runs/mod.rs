//! The runs of agents and the extractions that left a trace in a directory.

mod extraction;
mod list;
mod timeline;
mod trace;
mod view;
mod why;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use parking_lot::Mutex;
use spillgate_artifact::Timestamp;
use spillgate_http_api::Problem;

pub(crate) use extraction::extraction;
pub(crate) use list::list;
pub(crate) use view::{step, view};

use crate::table::Kept;
use list::Summary;
use trace::Run;

/// Maximum size of a trace that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// Maximum size of a trace that is kept in memory, in bytes. A larger one is read for each request.
const KEPT: u64 = 2 << 20;

/// Most files in a list; older ones are left out.
const MOST: usize = 5000;

/// Time without a change after which a run that has not ended counts as cut off. An agent writes its
/// trace every two seconds.
const STALE: Duration = Duration::from_secs(20);

/// A trace on the disk, as it was when the directory was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceOnDisk {
    name: String,
    path: PathBuf,
    bytes: u64,
    changed: SystemTime,
}

impl TraceOnDisk {
    /// Whether a run whose trace has not ended has probably been killed.
    fn is_stale(&self) -> bool {
        self.changed.elapsed().is_ok_and(|age| age > STALE)
    }
}

/// What identifies a state of a file.
type Version = (String, u64, SystemTime);

/// The directory of traces, and what was read from it.
pub(crate) struct Runs {
    /// `None` if no directory is set.
    directory: Option<PathBuf>,
    /// The traces that were read last.
    read: Kept<Version, Arc<Run>>,
    /// Held while a large trace is read, so that there is only one in memory.
    reading: Mutex<()>,
    /// What the list shows of each trace; `None` for files that are no traces.
    summaries: Mutex<HashMap<Version, Option<Arc<Summary>>>>,
}

impl Runs {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            read: Kept::default(),
            reading: Mutex::default(),
            summaries: Mutex::default(),
        }
    }

    /// Returns the files of the directory that may be traces, the one that changed last first.
    fn files(&self) -> Result<Vec<TraceOnDisk>, Problem> {
        let Some(directory) = &self.directory else {
            return Ok(Vec::new());
        };
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let what = format!("the directory of traces cannot be read: {error}");
                return Err(Problem::ours("traces", what));
            }
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut files: Vec<TraceOnDisk> = names.filter_map(|name| self.file(&name)).collect();
        files.sort_by(|one, other| (other.changed, &other.name).cmp(&(one.changed, &one.name)));
        files.truncate(MOST);
        Ok(files)
    }

    /// Returns a file by its name; `None` if it can be no trace. Links are not followed.
    fn file(&self, name: &str) -> Option<TraceOnDisk> {
        let is_name = name.strip_suffix(".json").is_some()
            && !name.starts_with('.')
            && !name.contains(['/', '\0']);
        let path = self.directory.as_ref().filter(|_| is_name)?.join(name);
        let found = fs::symlink_metadata(&path).ok()?;
        let changed = found.modified().ok()?;
        let name = name.to_owned();
        found.is_file().then_some(TraceOnDisk {
            name,
            path,
            bytes: found.len(),
            changed,
        })
    }

    /// Returns the file that a request names.
    fn named(&self, name: &str) -> Result<TraceOnDisk, Problem> {
        let gone = || {
            let what = "there is no such trace; it may have been removed";
            Problem::callers(StatusCode::NOT_FOUND, "no_trace", what)
        };
        self.file(name).ok_or_else(gone)
    }

    /// Reads a trace.
    fn run(&self, file: &TraceOnDisk) -> Result<Arc<Run>, Problem> {
        let version = (file.name.clone(), file.bytes, file.changed);
        let read = || {
            let wrong = |what: String| {
                let name = crate::shown::line(&file.name, 100);
                Problem::callers(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "trace",
                    format!("{name} {what}"),
                )
            };
            let _alone = self.reading.lock();
            let text = read(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
            let run = Run::parsed(&text, Timestamp::new(file.changed)).map_err(wrong)?;
            Ok(Arc::new(run))
        };
        match file.bytes <= KEPT {
            true => self.read.get(version, read),
            false => read(),
        }
    }
}

fn read(file: &TraceOnDisk) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(&file.path)?
        .take(LARGEST + 1)
        .read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        let what = format!("it is larger than {} MiB", LARGEST >> 20);
        return Err(io::Error::other(what));
    }
    Ok(text)
}

/// Returns a name for a path.
fn in_path(name: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    encoded.replace('+', "%20")
}
