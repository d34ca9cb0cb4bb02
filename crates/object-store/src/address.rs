//! The addresses of buckets.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use reqwest::Url;

/// The address of a store in a bucket, such as `s3://bucket/prefix`. It contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) kind: Kind,
    pub(crate) url: Url,
}

/// What kind of store a bucket is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Amazon S3, and servers that speak its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
    /// A directory.
    Directory(PathBuf),
}

/// Why a text is no address of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It begins with something else.
    #[error("it begins with `{0}://`, which is none of s3://, gs://, az:// and file://")]
    Scheme(String),
    /// It names no bucket.
    #[error("it names no bucket")]
    NoBucket,
    /// It contains credentials.
    #[error("it contains credentials; they belong in the environment")]
    Credentials,
    /// It has a part that no such address has.
    #[error("it has a `?` or `#`")]
    Query,
    /// It names a directory of another machine, or a relative one.
    #[error("it is not `file://` and the absolute path of a directory")]
    NoDirectory,
    /// It is no address at all.
    #[error("it is no address")]
    Malformed,
}

impl Address {
    /// Whether a text is the address of a bucket, right or wrong (`s3:/bucket`), rather than the
    /// path of a directory.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        let is_known = |scheme: &&str| text.starts_with(scheme);
        ["s3:/", "gs:/", "az:/", "file:/"].iter().any(is_known)
            || text.split_once("://").is_some_and(|(scheme, _)| {
                let mut letters = scheme.chars();
                letters.next().is_some_and(|c| c.is_ascii_alphabetic())
                    && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            })
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let url: Url = text.parse().map_err(|_| AddressError::Malformed)?;
        let kind = match url.scheme() {
            "s3" | "s3a" => Kind::S3,
            "gs" => Kind::Google,
            "az" | "azure" | "adl" | "abfs" | "abfss" => Kind::Azure,
            "file" => {
                let path = url.to_file_path().map_err(|()| AddressError::NoDirectory)?;
                match path.parent() {
                    Some(_) => Kind::Directory(path),
                    None => return Err(AddressError::NoDirectory),
                }
            }
            other => return Err(AddressError::Scheme(other.to_owned())),
        };
        // The user of `abfs://container@account…` is the container.
        let is_container = matches!(url.scheme(), "abfs" | "abfss");
        if url.password().is_some() || !(url.username().is_empty() || is_container) {
            return Err(AddressError::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(AddressError::Query);
        }
        let is_named = url.host_str().is_some_and(|host| !host.is_empty());
        if !is_named && !matches!(kind, Kind::Directory(_)) {
            return Err(AddressError::NoBucket);
        }
        Ok(Self { kind, url })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_address() {
        use AddressError::{Credentials, NoBucket, NoDirectory, Query};
        for (text, wanted) in [
            ("s3://bucket", Ok("s3://bucket")),
            ("s3://bucket/a/b/", Ok("s3://bucket/a/b")),
            ("s3a://my_bucket.eu/a", Ok("s3a://my_bucket.eu/a")),
            ("gs://bucket/a", Ok("gs://bucket/a")),
            ("az://container/a", Ok("az://container/a")),
            (
                "abfss://container@account.dfs.core.windows.net/a",
                Ok("abfss://container@account.dfs.core.windows.net/a"),
            ),
            ("file:///var/lib/outputs", Ok("file:///var/lib/outputs")),
            ("file:///", Err(NoDirectory)),
            ("file://elsewhere/a", Err(NoDirectory)),
            ("s3:///a", Err(NoBucket)),
            ("s3:/bucket/a", Err(NoBucket)),
            ("file:/var/lib/outputs", Ok("file:///var/lib/outputs")),
            ("s3://key:secret@bucket/a", Err(Credentials)),
            ("s3://key@bucket/a", Err(Credentials)),
            ("s3://bucket/a?x=1", Err(Query)),
            ("s3://bucket/a#x", Err(Query)),
            (
                "https://host/a",
                Err(AddressError::Scheme("https".to_owned())),
            ),
        ] {
            let parsed = text.parse::<Address>().map(|address| address.to_string());
            assert_eq!(parsed, wanted.map(str::to_owned), "{text}");
            assert!(Address::is_meant(text), "{text}");
        }
        for path in ["", "/a/b", "a/b", "a://", "./s3:/x", "1://x", "a b://x"] {
            let is_meant = path == "a://";
            assert_eq!(Address::is_meant(path), is_meant, "{path}");
        }
    }
}
