//! Which way leads to a server?

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{ChildLink, Intake, Link, LinkError, ServerSpec, Sink, Via};

/// Opens the way to a server.
pub trait Opener: Send + Sync + fmt::Debug {
    /// Opens it; what comes from the server goes to `sink`.
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Link>, LinkError>>;
}

/// The ways that there are.
#[derive(Debug, Clone)]
pub struct Ways {
    /// How messages come in.
    pub intake: Intake,
}

impl Opener for Ways {
    fn open<'a>(
        &'a self,
        server: &'a ServerSpec,
        sink: Arc<dyn Sink>,
    ) -> BoxFuture<'a, Result<Arc<dyn Link>, LinkError>> {
        let intake = self.intake.clone();
        async move {
            let link: Arc<dyn Link> = match &server.via {
                Via::Command(command) => Arc::new(ChildLink::start(command, intake, sink)?),
                Via::Http(_) | Via::Sse(_) => {
                    return Err(LinkError::Start("HTTP is not there yet".to_owned()));
                }
            };
            Ok(link)
        }
        .boxed()
    }
}
