//! Errors of fetches and searches, with advice.

use std::time::Duration;

/// Why there is no page. What it says is for a model: what happened, then what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The caller's: no URL.
    #[error("The url is wrong: {0}. Give a whole URL such as https://example.com/page.")]
    Url(String),
    /// The caller's: another protocol.
    #[error("{0}: URLs are not fetched. Give a URL that begins with http:// or https://.")]
    Scheme(String),
    /// The caller's: a user or a password in the URL.
    #[error("The url has a user name or a password in it. Leave it out; logins are not sent.")]
    Login,
    /// The caller's: a port that no web server has.
    #[error("Port {0} is not for web pages and is not asked. Use another URL.")]
    Port(u16),
    /// A host that is not of the public internet, or a name that leads to such ones only.
    #[error(
        "{host} is not on the public web ({what}), and private addresses are not fetched. \
         Use a public URL; a person can allow this host in the configuration."
    )]
    Private {
        /// The host as the URL has it.
        host: String,
        /// What it is.
        what: &'static str,
    },
    /// The server's: a redirect to what is refused.
    #[error("{from} redirects to what is not fetched: {why}")]
    Redirect {
        /// The host that redirects.
        from: String,
        /// Why not.
        why: Box<FetchError>,
    },
    /// The server's: redirects without end.
    #[error("{host} redirects more than {most} times. The page cannot be had so; use another URL.")]
    Redirects {
        /// The host asked first.
        host: String,
        /// Redirects that are followed.
        most: usize,
    },
    /// The name, or the name service: no address.
    #[error("The name {host} was not found. Check the url.")]
    Name {
        /// The name.
        host: String,
    },
    /// The server's, or the network's: no connection.
    #[error("{host} could not be reached: {cause}. Check the url, or try it later.")]
    Unreachable {
        /// The host.
        host: String,
        /// What the system says.
        cause: String,
    },
    /// The server's: the connection broke off.
    #[error("{host} broke off: {cause}. Nothing was kept; try it again.")]
    Broken {
        /// The host.
        host: String,
        /// What the system says.
        cause: String,
    },
    /// The server's: too slow.
    #[error(
        "{host} took longer than {} s. Nothing was kept; {}use another URL.",
        .after.as_secs(), again(*.after, *.most)
    )]
    Late {
        /// The host.
        host: String,
        /// How long was waited.
        after: Duration,
        /// How long may be waited.
        most: Duration,
    },
    /// More than is read.
    #[error(
        "What {host} sends is larger than {limit} bytes{}, the most that is read.",
        .declared.filter(|bytes| bytes > .limit).map(|bytes| format!(" (it declares {bytes})")).unwrap_or_default()
    )]
    TooLarge {
        /// The host.
        host: String,
        /// Bytes that are read, decoded.
        limit: u64,
        /// Bytes that the server said there are, as sent.
        declared: Option<u64>,
    },
    /// The server's: a compression that it was not asked for.
    #[error(
        "{host} sends its page encoded as {encoding:?}, which it was not asked for. Use another URL."
    )]
    Encoding {
        /// The host.
        host: String,
        /// The encodings.
        encoding: String,
    },
    /// The server's: what is compressed is broken.
    #[error("What {host} sends is not the {encoding} that it says it is. Use another URL.")]
    Undecodable {
        /// The host.
        host: String,
        /// The encoding.
        encoding: &'static str,
    },
    /// The server's: its `robots.txt` asks programs to leave the page alone.
    #[error(
        "{host} does not want programs to fetch this page: its robots.txt says so. \
         Use another source; a person can open the page, or switch this check off in the configuration."
    )]
    Robots {
        /// The host.
        host: String,
    },
    /// The server's: it has rules, maybe, and nobody can know them.
    #[error(
        "The robots.txt of {host}, which says what programs may fetch there, cannot be had: {why}. \
         Nothing is fetched from there without it; try it later, or use another source."
    )]
    NoRobots {
        /// The host.
        host: String,
        /// Why not.
        why: String,
    },
    /// Ours: no client could be made.
    #[error("No page can be fetched here: {0}. This is for whoever set up Spillgate.")]
    Us(String),
}

/// Why there are no results. For a model: what happened, whose fault it is, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The key is wrong or used up.
    #[error(
        "{service} does not accept the API key, or its plan is used up (HTTP {status}). \
         Whoever set up Spillgate must look at it; a search again will not help."
    )]
    Key {
        /// The service.
        service: &'static str,
        /// The status.
        status: u16,
    },
    /// Too many searches.
    #[error("{service} allows no more searches for now (HTTP 429). Wait{}, then search again.", .after.map(|after| format!(" {} s", after.as_secs())).unwrap_or_default())]
    TooMany {
        /// The service.
        service: &'static str,
        /// When it asks to be asked again.
        after: Option<Duration>,
    },
    /// The service refuses, or is out of order.
    #[error("{service} answered with HTTP {status}{said}. {}", advice(*.status))]
    Status {
        /// The service.
        service: &'static str,
        /// The status.
        status: u16,
        /// What it says, on one line, cut; begins with `: ` unless empty.
        said: String,
    },
    /// No connection, or broken off.
    #[error(
        "{service} could not be reached: {cause}. Try it later; if it stays so, its address in the configuration may be wrong."
    )]
    Unreachable {
        /// The service.
        service: &'static str,
        /// What the system says.
        cause: String,
    },
    /// Too slow.
    #[error("{service} took longer than {} s. Try it again.", .after.as_secs())]
    Late {
        /// The service.
        service: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// What came is not what the service's documentation says.
    #[error(
        "What {service} answered cannot be used: {why}. This is the service's fault, or its address in the configuration is wrong."
    )]
    Nonsense {
        /// The service.
        service: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Ours: no client could be made.
    #[error("No search can be made here: {0}. This is for whoever set up Spillgate.")]
    Us(String),
}

/// What helps where there was not time enough.
fn again(after: Duration, most: Duration) -> String {
    match after < most {
        true => format!(
            "try it again with a longer timeout (up to {} s), or ",
            most.as_secs()
        ),
        false => String::new(),
    }
}

/// What helps with a status.
fn advice(status: u16) -> &'static str {
    match status {
        500.. => "This is the service's fault; try it later.",
        300..400 => "Its address in the configuration is wrong.",
        _ => {
            "It refuses the search as it was asked; change the query, or tell whoever set up Spillgate."
        }
    }
}
