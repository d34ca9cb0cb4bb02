//! Creates an object again if no answer came.

use std::time::{Duration, Instant};

use object_store::Error;

use crate::trouble::is_unanswered;

/// When an object is created again because no answer came. The client itself tries everything again
/// but this, because it cannot know whether the object is its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Again {
    /// Time after which it is not tried again.
    pub(crate) time: Duration,
    /// Time before it is tried again for the first time; it doubles each time.
    pub(crate) pause: Duration,
}

/// How often an object is created at most.
const CREATIONS: u32 = 6;

/// The creation of one object.
pub(crate) struct Tries {
    again: Again,
    began: Instant,
    count: u32,
}

impl Tries {
    pub(crate) fn new(again: Again) -> Self {
        Self {
            again,
            began: Instant::now(),
            count: 1,
        }
    }

    /// Waits, and returns whether the object should be created again after this error.
    pub(crate) async fn goes_on(&mut self, error: &Error) -> bool {
        let pause = self.again.pause * 2u32.pow(self.count - 1);
        let is_late = self.began.elapsed() + pause >= self.again.time;
        if !is_unanswered(error) || self.count >= CREATIONS || is_late {
            return false;
        }
        self.count += 1;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        true
    }
}
