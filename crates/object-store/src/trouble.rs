//! Turns the errors of the client into errors of the store: whose fault it is, without credentials.

use std::error::Error as _;
use std::io::ErrorKind;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};
use spillgate_store::{Remote, StoreError};

use crate::tls::PlainError;

/// Maximum characters of what a server says that an error contains.
const SAID: usize = 200;

/// Codes of S3 and others for credentials that are not accepted, in answers of any status.
const CREDENTIALS: [&str; 9] = [
    "AccessDenied",
    "AuthenticationFailed",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "AuthorizationHeaderMalformed",
];

/// Returns the error for a request to the store at `place`. `doing` says what was tried.
pub(crate) fn failed(place: &str, doing: &str, error: &Error) -> StoreError {
    let (why, what) = judged(error);
    StoreError::Remote {
        place: place.to_owned(),
        why,
        what: format!("{doing} failed: {what}"),
    }
}

/// Returns the error for an answer that makes no sense.
pub(crate) fn strange(place: &str, doing: &str, what: &str) -> StoreError {
    StoreError::Remote {
        place: place.to_owned(),
        why: Remote::Refused,
        what: format!("{doing} failed: {what}"),
    }
}

/// Whether a request was perhaps carried out, or may be tried again: no answer came.
pub(crate) fn is_unanswered(error: &Error) -> bool {
    let http = source_of::<HttpError>(error);
    http.is_some_and(|http| !matches!(http.kind(), HttpErrorKind::Decode))
        && source_of::<PlainError>(error).is_none()
        && status_in(&chain(error)).is_none()
}

fn judged(error: &Error) -> (Remote, String) {
    let all = chain(error);
    if let Some((status, body)) = status_in(&all) {
        return of_status(status, body);
    }
    if let Some(plain) = source_of::<PlainError>(error) {
        return (Remote::Refused, plain.to_string());
    }
    if let Some(http) = source_of::<HttpError>(error) {
        let (why, what) = match http.kind() {
            HttpErrorKind::Timeout => (Remote::Unreachable, "it did not answer in time"),
            HttpErrorKind::Connect => (Remote::Unreachable, "no connection to it can be made"),
            HttpErrorKind::Decode => (Remote::Refused, "its answer makes no sense"),
            _ => (Remote::Unreachable, "the connection broke"),
        };
        return (why, what.to_owned());
    }
    let (why, what) = match error {
        Error::NotFound { .. } => (Remote::Refused, "it does not exist"),
        Error::AlreadyExists { .. } | Error::Precondition { .. } => {
            (Remote::Refused, "somebody else changed it")
        }
        Error::PermissionDenied { .. } => (Remote::Denied, "access is denied"),
        Error::Unauthenticated { .. } => (Remote::Denied, "the credentials are not accepted"),
        Error::NotImplemented { .. } | Error::NotSupported { .. } => {
            (Remote::Refused, "this kind of store cannot do it")
        }
        _ if all.contains("redirect") => (
            Remote::Refused,
            "it sends the request elsewhere; the region is probably wrong",
        ),
        _ if all.contains("from headers") => (
            Remote::Refused,
            "its answer does not say which version of the object it stored",
        ),
        _ if all.contains("metadata") || all.contains("credential") => {
            (Remote::Denied, "there are no credentials for it")
        }
        _ => match source_of::<std::io::Error>(error) {
            Some(error) if error.kind() == ErrorKind::PermissionDenied => {
                (Remote::Denied, "access is denied")
            }
            Some(error) => return (Remote::Refused, clean(&error.to_string())),
            None => (Remote::Refused, "its answer makes no sense"),
        },
    };
    (why, what.to_owned())
}

/// Returns the status and the body of an answer in the texts of an error. The client has them in no
/// other form.
fn status_in(all: &str) -> Option<(u16, &str)> {
    let after = |mark| Some(all.split_once(mark)?.1);
    if let Some(rest) = after("non-2xx status code: ") {
        let (status, rest) = rest.split_at_checked(3)?;
        let body = rest.split_once(": ").map_or("", |(_, body)| body);
        return Some((status.parse().ok()?, body));
    }
    // An error in an answer that began as a success.
    after("returned error response: ").map(|body| (500, body))
}

fn of_status(status: u16, body: &str) -> (Remote, String) {
    let said = said(body);
    let with = |what: &str| match said.is_empty() {
        true => format!("{what} (status {status})"),
        false => format!("{what} (status {status}: {said})"),
    };
    if CREDENTIALS.iter().any(|code| body.contains(code)) || matches!(status, 401 | 403) {
        let what = match body.contains("RequestTimeTooSkewed") {
            true => "the clock of this machine is wrong",
            false if body.contains("Expired") => "the credentials have expired",
            false => "the credentials are not accepted, or do not allow it",
        };
        return (Remote::Denied, with(what));
    }
    match status {
        404 => (Remote::Refused, with("it does not exist")),
        408 | 429 | 503 => (Remote::Busy, with("it is overloaded")),
        500.. => (Remote::Busy, with("it failed by itself")),
        _ => (Remote::Refused, with("it refused the request")),
    }
}

/// Returns the code and the message of an answer in XML, otherwise nothing: other answers are pages
/// of proxies. Elements that can contain keys or signatures are left out.
fn said(body: &str) -> String {
    let element = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    let code = element("Code").unwrap_or_default();
    // Messages of some servers quote the signature that they expected.
    let message = element("Message").filter(|_| code != "SignatureDoesNotMatch");
    let all = match message {
        Some(message) => format!("{code}, {message}"),
        None => code.to_owned(),
    };
    clean(&all)
}

/// Returns one line of limited length.
fn clean(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let line = line.join(" ");
    let visible = line.chars().filter(|c| !c.is_control());
    visible.take(SAID).collect()
}

/// Returns the texts of an error and of its causes. They may contain addresses with signatures, so
/// they are never shown.
fn chain(error: &Error) -> String {
    let mut all = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        all.push('\n');
        all.push_str(&error.to_string());
        next = error.source();
    }
    all
}

/// Returns the error of a type in the chain of causes.
fn source_of<'a, E: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a E> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
