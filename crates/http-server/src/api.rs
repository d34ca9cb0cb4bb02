//! Admits the requests of the API for programs: authentication, the rate, and the number in flight.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use spillgate_http_api::Caller;

use crate::limits::ConcurrencyPermit;
use crate::problem::Problem;
use crate::server::{Inner, ends_of};

/// Passes a request on if its sender may use the API now. It is in flight until the body of its
/// response was sent.
pub(crate) async fn admit(
    State(inner): State<Arc<Inner>>,
    request: Request,
    next: Next,
) -> Response {
    let (request, permit) = match admitted(&inner, request).await {
        Ok(admitted) => admitted,
        Err(problem) => return problem.into_details(),
    };
    in_flight(next.run(request).await, permit)
}

/// Returns a response that holds its permit until its body was sent.
pub(crate) fn in_flight(response: Response, permit: ConcurrencyPermit) -> Response {
    response.map(|body| {
        Body::new(InFlight {
            body,
            _permit: permit,
        })
    })
}

/// The body of a response that counts as in flight.
struct InFlight {
    body: Body,
    _permit: ConcurrencyPermit,
}

impl HttpBody for InFlight {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

async fn admitted(
    inner: &Inner,
    mut request: Request,
) -> Result<(Request, ConcurrencyPermit), Problem> {
    let identity = inner.identify(ends_of(&request), request.headers()).await?;
    if let Some(rates) = &inner.rates {
        rates.count(None, identity.ip)?;
    }
    let most = inner.settings.max_requests_per_session;
    let permit = inner.concurrency.take(identity.name(), most)?;
    let caller = Caller(inner.authenticator.name_of(&identity.principal));
    request.extensions_mut().insert(caller);
    Ok((request, permit))
}
