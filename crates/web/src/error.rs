//! Errors of fetching and searching, with advice for the model.

use std::time::Duration;

/// Why a page could not be fetched. The message is for a model: it says what happened, then what to
/// do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The caller's fault: the text is not a URL.
    #[error("The url is wrong: {0}. Give a whole URL such as https://example.com/page.")]
    Url(String),
    /// The caller's fault: the protocol is not supported.
    #[error(
        "URLs with the scheme {0} are not fetched. Give a URL that begins with http:// or https://."
    )]
    Scheme(String),
    /// The caller's fault: the URL contains a user name or a password.
    #[error("The url contains a user name or a password. Remove them; no credentials are sent.")]
    Login,
    /// The caller's fault: no web server uses this port.
    #[error("Port {0} is not a port for web pages, so it is not used. Use another URL.")]
    Port(u16),
    /// A host outside the public internet, or a name that resolves only to such addresses.
    #[error(
        "{host} is not on the public web ({what}), and private addresses are not fetched. \
         Use a public URL; a person can allow this host in the configuration."
    )]
    Private {
        /// The host as written in the URL.
        host: String,
        /// Why the host is not public.
        what: &'static str,
    },
    /// The server's fault: a redirect to a URL that is refused.
    #[error("{from} redirects to a URL that is not fetched: {why}")]
    Redirect {
        /// The host that redirects.
        from: String,
        /// Why the target is refused.
        why: Box<FetchError>,
    },
    /// The server's fault: it redirects too often.
    #[error(
        "{host} redirects more than {most} times, so the page cannot be fetched. Use another URL."
    )]
    Redirects {
        /// The host requested first.
        host: String,
        /// Maximum number of redirects that are followed.
        most: usize,
    },
    /// The name could not be resolved to an address.
    #[error("The name {host} was not found. Check the url.")]
    Name {
        /// The name.
        host: String,
    },
    /// The server's or the network's fault: no connection could be made.
    #[error("{host} could not be reached: {cause}. Check the url, or try again later.")]
    Unreachable {
        /// The host.
        host: String,
        /// The system's message.
        cause: String,
    },
    /// The server's fault: the connection was closed too early.
    #[error(
        "The connection to {host} broke off: {cause}. No part of the page was kept; try again."
    )]
    Broken {
        /// The host.
        host: String,
        /// The system's message.
        cause: String,
    },
    /// The server's fault: it is too slow.
    #[error(
        "{host} took longer than {} s. No part of the page was kept; {}use another URL.",
        .after.as_secs(), again(*.after, *.most)
    )]
    Late {
        /// The host.
        host: String,
        /// The time limit of this call.
        after: Duration,
        /// The longest time limit that a call may set.
        most: Duration,
    },
    /// The body exceeds the limit.
    #[error(
        "The response of {host} is larger than the maximum of {limit} bytes{}.",
        .declared.filter(|bytes| bytes > .limit).map(|bytes| format!(" (the server declares {bytes} bytes)")).unwrap_or_default()
    )]
    TooLarge {
        /// The host.
        host: String,
        /// The limit in bytes of the decoded body.
        limit: u64,
        /// The length of the body that the server declared, in bytes as sent.
        declared: Option<u64>,
    },
    /// The server's fault: it uses an encoding that was not requested.
    #[error(
        "{host} sends the page in the encoding {encoding:?}, which was not requested. Use another URL."
    )]
    Encoding {
        /// The host.
        host: String,
        /// The encodings.
        encoding: String,
    },
    /// The server's fault: the compressed body is broken.
    #[error(
        "The response of {host} is not valid {encoding}, although the server says that it is. Use another URL."
    )]
    Undecodable {
        /// The host.
        host: String,
        /// The encoding.
        encoding: &'static str,
    },
    /// The server's `robots.txt` asks programs not to fetch the page.
    #[error(
        "{host} does not want programs to fetch this page: its robots.txt says so. \
         Use another source; a person can open the page, or switch this check off in the configuration."
    )]
    Robots {
        /// The host.
        host: String,
    },
    /// The server's `robots.txt` cannot be read, so its rules are unknown.
    #[error(
        "The robots.txt of {host}, which says what programs may fetch there, could not be fetched: {why}. \
         Without it, nothing is fetched from this host; try again later, or use another source."
    )]
    NoRobots {
        /// The host.
        host: String,
        /// The reason.
        why: String,
    },
    /// Our fault: no client could be created.
    #[error("No page can be fetched here: {0}. Only the person who set up Spillgate can fix this.")]
    Us(String),
}

/// Why a search failed. The message is for a model: it says what happened, whose fault it is, and
/// what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The key is wrong or its quota is used up.
    #[error(
        "{service} does not accept the API key, or its plan is used up (HTTP {status}). \
         Only the person who set up Spillgate can fix this; another search will not help."
    )]
    Key {
        /// The service.
        service: &'static str,
        /// The HTTP status.
        status: u16,
    },
    /// The service received too many searches.
    #[error("{service} allows no more searches for now (HTTP 429). Wait{}, then search again.", .after.map(|after| format!(" {} s", after.as_secs())).unwrap_or_default())]
    TooMany {
        /// The service.
        service: &'static str,
        /// How long the service asks to wait.
        after: Option<Duration>,
    },
    /// The service refuses the search or is out of order.
    #[error("{service} answered with HTTP {status}{said}. {}", advice(*.status))]
    Status {
        /// The service.
        service: &'static str,
        /// The HTTP status.
        status: u16,
        /// The service's message, clipped, on one line; begins with `: ` unless empty.
        said: String,
    },
    /// No connection could be made, or it was closed too early.
    #[error(
        "{service} could not be reached: {cause}. Try again later; if this continues, the address of the service in the configuration may be wrong."
    )]
    Unreachable {
        /// The service.
        service: &'static str,
        /// The system's message.
        cause: String,
    },
    /// The service is too slow.
    #[error("{service} took longer than {} s. Try again.", .after.as_secs())]
    Late {
        /// The service.
        service: &'static str,
        /// The time limit.
        after: Duration,
    },
    /// The answer does not match the service's documentation.
    #[error(
        "The answer of {service} cannot be used: {why}. This is the service's fault, or the address of the service in the configuration is wrong."
    )]
    Nonsense {
        /// The service.
        service: &'static str,
        /// What is wrong with the answer.
        why: String,
    },
    /// Our fault: no client could be created.
    #[error("No search can be made here: {0}. Only the person who set up Spillgate can fix this.")]
    Us(String),
}

/// The advice after a timeout.
fn again(after: Duration, most: Duration) -> String {
    match after < most {
        true => format!(
            "try again with a longer timeout (up to {} s), or ",
            most.as_secs()
        ),
        false => String::new(),
    }
}

/// The advice for an HTTP status.
fn advice(status: u16) -> &'static str {
    match status {
        500.. => "This is the service's fault; try again later.",
        300..400 => "The address of the service in the configuration is wrong.",
        _ => {
            "The service refuses this search; change the query, or tell the person who set up Spillgate."
        }
    }
}
