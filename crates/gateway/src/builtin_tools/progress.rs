//! Progress notifications of an extraction.

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use spillgate_extract::Watch;
use tokio::sync::mpsc::UnboundedSender;

use spillgate_mcp::{frame, object};

/// Returns the progress token of a request, if it has one.
pub(crate) fn token(meta: Option<&RawValue>) -> Option<Value> {
    #[derive(Deserialize)]
    struct Meta {
        #[serde(default, rename = "progressToken")]
        token: Option<Value>,
    }
    let token = meta.and_then(object::<Meta>)?.token?;
    (token.is_string() || token.is_number()).then_some(token)
}

/// Returns the exact text of a request's progress token.
pub(crate) fn token_of(params: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, default, rename = "progressToken")]
        token: Option<&'a RawValue>,
    }
    // Most requests have no token, and their parameters may be large.
    let params = params.filter(|params| params.get().contains("progressToken"))?;
    let meta = object::<Params<'_>>(params)?.meta?;
    Some(object::<Meta<'_>>(meta)?.token?.get().to_owned())
}

/// Sends each step as a notification. The total number of steps is not sent, because it is unknown
/// until the end: chunks are split, and replies are reduced in rounds.
#[derive(Debug)]
pub(crate) struct Progress {
    token: Option<Value>,
    /// Number of steps sent. The protocol requires that this number always increases.
    told: Mutex<u64>,
    frames: UnboundedSender<Vec<u8>>,
}

impl Progress {
    pub(crate) fn new(token: Option<Value>, frames: UnboundedSender<Vec<u8>>) -> Self {
        Self {
            token,
            told: Mutex::new(0),
            frames,
        }
    }
}

impl Watch for Progress {
    fn step(&self, stage: &str, done: u64, total: u64) {
        let Some(token) = &self.token else {
            return;
        };
        let mut told = self.told.lock();
        *told += 1;
        let params = json!({
            "progressToken": token,
            "progress": *told,
            "message": format!("{stage} {done} of {total}"),
        });
        let frame = frame::notification("notifications/progress", Some(&params.to_string()));
        // An error means that the gateway is ending and no longer listens.
        drop(self.frames.send(frame::line(frame)));
    }
}
