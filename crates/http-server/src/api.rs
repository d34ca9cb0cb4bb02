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
use tower::ServiceExt;

use crate::limits::ConcurrencyPermit;
use crate::problem::Problem;
use crate::server::{Inner, ends_of};
use crate::tenants::Doors;

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
    let caller = inner.caller(&identity.owner)?;
    let doors = inner.doors_of(&identity.owner).await?;
    request.extensions_mut().insert(caller);
    request.extensions_mut().insert(doors);
    Ok((request, permit))
}

/// Passes an admitted request on to the API of its sender.
pub(crate) async fn dispatch(request: Request) -> Response {
    let doors = request.extensions().get::<Arc<Doors>>();
    let routes = doors.and_then(|doors| doors.api.clone());
    let routes = routes.expect("invariant: an admitted request has the doors of its sender");
    match routes.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
