//! Reads a response's body within its limits.

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Response, Url};
use tokio::time::timeout_at;

use crate::FetchError;
use crate::client::cause;
use crate::decoder::{Decoder, DecoderError};
use crate::fetcher::{Deadline, host};

/// Characters of a `Content-Type` that are kept.
const LONGEST_TYPE: usize = 200;

/// A response whose head has arrived. Dropping it closes the connection.
#[derive(Debug)]
pub struct FetchResponse {
    url: Url,
    response: Response,
    deadline: Deadline,
    decoder: Option<Decoder>,
    encoding: &'static str,
    /// Bytes that have arrived and are not decoded yet.
    waiting: Bytes,
    limit: u64,
    has_ended: bool,
}

impl FetchResponse {
    pub(crate) fn new(url: Url, response: Response, deadline: Deadline) -> Self {
        Self {
            url,
            response,
            deadline,
            decoder: None,
            encoding: "",
            waiting: Bytes::new(),
            limit: u64::MAX,
            has_ended: false,
        }
    }

    /// The URL of the page, after all redirects.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The status with its reason, such as `404 Not Found`.
    #[must_use]
    pub fn status_text(&self) -> String {
        self.response.status().to_string().trim_end().to_owned()
    }

    /// The `Content-Type` as sent, on one line. Empty if it is missing or not ASCII.
    #[must_use]
    pub fn content_type(&self) -> String {
        let sent = self.response.headers().get(CONTENT_TYPE);
        let sent = sent.and_then(|sent| sent.to_str().ok()).unwrap_or_default();
        sent.chars().take(LONGEST_TYPE).collect()
    }

    /// The length of the body in bytes that the server declared. For a compressed body this is the
    /// compressed length.
    #[must_use]
    pub fn declared(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// Limits the decoded body to `limit` bytes. Fails immediately if a longer body is declared, or
    /// if the body has an encoding that was not requested. Call this once, before the first
    /// [`next`](Self::next).
    pub fn limit(&mut self, limit: u64) -> Result<(), FetchError> {
        self.limit = limit;
        if self.declared().is_some_and(|declared| declared > limit) {
            return Err(self.failed(DecoderError::TooLarge));
        }
        let encodings = self.response.headers().get_all(CONTENT_ENCODING).iter();
        let encodings: Vec<_> = encodings
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        let encoding = encodings.join(", ");
        self.decoder = Decoder::new(&encoding, limit);
        match &self.decoder {
            Some(decoder) => {
                self.encoding = decoder.name();
                Ok(())
            }
            None => Err(FetchError::Encoding {
                host: host(&self.url),
                encoding: encoding.chars().take(60).collect(),
            }),
        }
    }

    /// Returns the next decoded bytes; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, FetchError> {
        if self.decoder.is_none() && !self.has_ended {
            self.limit(self.limit)?;
        }
        while !self.has_ended {
            let decoded = match self.has_more().await? {
                true => self.decoded(),
                false => self.last(),
            };
            let decoded = decoded.map_err(|error| self.failed(error))?;
            if !decoded.is_empty() {
                return Ok(Some(decoded));
            }
        }
        Ok(None)
    }

    /// Returns the whole body, for bodies with a small limit.
    pub async fn whole(&mut self) -> Result<Vec<u8>, FetchError> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await? {
            whole.extend(bytes);
        }
        Ok(whole)
    }

    /// Returns up to `most` bytes from the beginning. If an error occurs, returns the bytes before
    /// it.
    pub async fn beginning(&mut self, most: usize) -> Vec<u8> {
        let mut beginning = Vec::new();
        while let Ok(Some(bytes)) = self.next().await {
            beginning.extend(bytes);
            if beginning.len() >= most {
                break;
            }
        }
        beginning.truncate(most);
        beginning
    }

    /// Waits for bytes to decode. Returns false at the end of the body.
    async fn has_more(&mut self) -> Result<bool, FetchError> {
        while self.waiting.is_empty() {
            let chunk = timeout_at(self.deadline.at, self.response.chunk()).await;
            let chunk = chunk.map_err(|_| self.deadline.late(&host(&self.url)))?;
            let chunk = chunk.map_err(|error| FetchError::Broken {
                host: host(&self.url),
                cause: cause(&error),
            })?;
            match chunk {
                Some(chunk) => self.waiting = chunk,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn decoded(&mut self) -> Result<Vec<u8>, DecoderError> {
        let decoder = self.decoder.as_mut();
        let decoder = decoder.expect("invariant: made by limit()");
        decoder.feed(&mut self.waiting)
    }

    fn last(&mut self) -> Result<Vec<u8>, DecoderError> {
        self.has_ended = true;
        let decoder = self.decoder.take();
        decoder.map_or(Ok(Vec::new()), Decoder::finish)
    }

    fn failed(&self, error: DecoderError) -> FetchError {
        let host = host(&self.url);
        match error {
            DecoderError::TooLarge => FetchError::TooLarge {
                host,
                limit: self.limit,
                declared: self.declared(),
            },
            DecoderError::Broken => FetchError::Undecodable {
                host,
                encoding: self.encoding,
            },
        }
    }
}
