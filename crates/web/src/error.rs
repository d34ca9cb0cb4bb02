//! Errors of fetching and searching, with advice for the model.

use std::time::Duration;

/// Why there is no page. The message is for a model: it says what happened, then what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The caller's fault: not a URL.
    #[error("The url is wrong: {0}. Give a whole URL such as https://example.com/page.")]
    Url(String),
    /// The caller's fault: another protocol.
    #[error("{0}: URLs are not fetched. Give a URL that begins with http:// or https://.")]
    Scheme(String),
    /// The caller's fault: a user name or a password in the URL.
    #[error("The url has a user name or a password in it. Leave it out; logins are not sent.")]
    Login,
    /// The caller's fault: a port that no web server uses.
    #[error("Port {0} is not for web pages and is not asked. Use another URL.")]
    Port(u16),
    /// A host outside the public internet, or a name that resolves only to such addresses.
    #[error(
        "{host} is not on the public web ({what}), and private addresses are not fetched. \
         Use a public URL; a person can allow this host in the configuration."
    )]
    Private {
        /// The host as written in the URL.
        host: String,
        /// What it is.
        what: &'static str,
    },
    /// The server's fault: a redirect to a URL that is refused.
    #[error("{from} redirects to what is not fetched: {why}")]
    Redirect {
        /// The host that redirects.
        from: String,
        /// Why the target is refused.
        why: Box<FetchError>,
    },
    /// The server's fault: too many redirects.
    #[error("{host} redirects more than {most} times. The page cannot be had so; use another URL.")]
    Redirects {
        /// The host requested first.
        host: String,
        /// The most redirects that are followed.
        most: usize,
    },
    /// The name, or the name service, gives no address.
    #[error("The name {host} was not found. Check the url.")]
    Name {
        /// The name.
        host: String,
    },
    /// The server's or the network's fault: no connection.
    #[error("{host} could not be reached: {cause}. Check the url, or try it later.")]
    Unreachable {
        /// The host.
        host: String,
        /// The system's message.
        cause: String,
    },
    /// The server's fault: the connection broke off.
    #[error("{host} broke off: {cause}. Nothing was kept; try it again.")]
    Broken {
        /// The host.
        host: String,
        /// The system's message.
        cause: String,
    },
    /// The server's fault: it is too slow.
    #[error(
        "{host} took longer than {} s. Nothing was kept; {}use another URL.",
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
        "What {host} sends is larger than {limit} bytes{}, the most that is read.",
        .declared.filter(|bytes| bytes > .limit).map(|bytes| format!(" (it declares {bytes})")).unwrap_or_default()
    )]
    TooLarge {
        /// The host.
        host: String,
        /// The limit in bytes, decoded.
        limit: u64,
        /// The bytes that the server declared, as sent.
        declared: Option<u64>,
    },
    /// The server's fault: an encoding that was not requested.
    #[error(
        "{host} sends its page encoded as {encoding:?}, which it was not asked for. Use another URL."
    )]
    Encoding {
        /// The host.
        host: String,
        /// The encodings.
        encoding: String,
    },
    /// The server's fault: the compressed body is broken.
    #[error("What {host} sends is not the {encoding} that it says it is. Use another URL.")]
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
        "The robots.txt of {host}, which says what programs may fetch there, cannot be had: {why}. \
         Nothing is fetched from there without it; try it later, or use another source."
    )]
    NoRobots {
        /// The host.
        host: String,
        /// The reason.
        why: String,
    },
    /// Our fault: no client could be created.
    #[error("No page can be fetched here: {0}. This is for whoever set up Spillgate.")]
    Us(String),
}

/// Why there are no results. The message is for a model: it says what happened, whose fault it
/// is, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The key is wrong or its quota is used up.
    #[error(
        "{service} does not accept the API key, or its plan is used up (HTTP {status}). \
         Whoever set up Spillgate must look at it; a search again will not help."
    )]
    Key {
        /// The service.
        service: &'static str,
        /// The HTTP status.
        status: u16,
    },
    /// Too many searches.
    #[error("{service} allows no more searches for now (HTTP 429). Wait{}, then search again.", .after.map(|after| format!(" {} s", after.as_secs())).unwrap_or_default())]
    TooMany {
        /// The service.
        service: &'static str,
        /// How long the service asks to wait.
        after: Option<Duration>,
    },
    /// The service refuses, or is out of order.
    #[error("{service} answered with HTTP {status}{said}. {}", advice(*.status))]
    Status {
        /// The service.
        service: &'static str,
        /// The HTTP status.
        status: u16,
        /// The service's message, clipped, on one line; begins with `: ` unless empty.
        said: String,
    },
    /// There was no connection, or it broke off.
    #[error(
        "{service} could not be reached: {cause}. Try it later; if it stays so, its address in the configuration may be wrong."
    )]
    Unreachable {
        /// The service.
        service: &'static str,
        /// The system's message.
        cause: String,
    },
    /// The service is too slow.
    #[error("{service} took longer than {} s. Try it again.", .after.as_secs())]
    Late {
        /// The service.
        service: &'static str,
        /// The time limit.
        after: Duration,
    },
    /// The answer is not as the service's documentation says.
    #[error(
        "What {service} answered cannot be used: {why}. This is the service's fault, or its address in the configuration is wrong."
    )]
    Nonsense {
        /// The service.
        service: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Our fault: no client could be created.
    #[error("No search can be made here: {0}. This is for whoever set up Spillgate.")]
    Us(String),
}

/// The advice after a timeout.
fn again(after: Duration, most: Duration) -> String {
    match after < most {
        true => format!(
            "try it again with a longer timeout (up to {} s), or ",
            most.as_secs()
        ),
        false => String::new(),
    }
}

/// The advice for an HTTP status.
fn advice(status: u16) -> &'static str {
    match status {
        500.. => "This is the service's fault; try it later.",
        300..400 => "Its address in the configuration is wrong.",
        _ => {
            "It refuses the search as it was asked; change the query, or tell whoever set up Spillgate."
        }
    }
}
