//! Runs the asynchronous client of a bucket for callers that wait.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::mpsc::sync_channel;

use spillgate_store::StoreError;
use tokio::runtime::{Builder, Runtime};

/// Threads that wait for the network. Requests take no processor time worth mentioning.
const THREADS: usize = 2;

/// A small runtime of its own. Its callers may be threads of another runtime.
pub(crate) struct Waiting(Option<Runtime>);

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiting")
    }
}

impl Waiting {
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(THREADS)
            .thread_name("bucket")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    /// Runs a future to its end.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, result) = sync_channel(1);
        self.begin(async move {
            // The receiver waits until this is sent.
            drop(done.send(future.await));
        });
        result.recv().unwrap_or_else(|_| {
            Err(StoreError::Io {
                path: "the client of the bucket".into(),
                source: io::Error::other("it ended before the answer came"),
            })
        })
    }

    /// Starts a future for whose end nobody waits.
    pub(crate) fn begin(&self, future: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0 {
            drop(runtime.spawn(future));
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Waiting for the threads is not allowed in a thread of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_used_from_a_thread_of_another_runtime() {
        let other = Builder::new_multi_thread().enable_all().build().unwrap();
        let got = other.block_on(async {
            let waiting = Waiting::new().unwrap();
            waiting.run(async {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                Ok(7)
            })
        });
        assert_eq!(got.unwrap(), 7);
    }

    #[test]
    fn a_panic_is_an_error() {
        let waiting = Waiting::new().unwrap();
        let got = waiting.run(async { if true { panic!("a test") } else { Ok(1) } });
        assert!(got.is_err());
        assert_eq!(waiting.run(async { Ok(2) }).unwrap(), 2);
    }
}
