//! Connects a store with its bucket.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpClient, HttpConnector};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use reqwest::Url;
use spillgate_artifact::Clock;
use spillgate_http_client::{Certificates, ClientError, builder, is_loopback};
use spillgate_store::{FileStore, StoreError};

use crate::address::{Address, Kind};
use crate::again::Again;
use crate::bucket::{Bucket, PART};
use crate::layout::Layout;
use crate::store::{BucketStore, Options};
use crate::swap::Swap;
use crate::tls::{Guarded, is_exposed, server_of};

/// How long requests may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Maximum time until a connection is made.
    pub connect: Duration,
    /// Maximum time of a request.
    pub request: Duration,
    /// Time after which a request that failed is not tried again.
    pub retry: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(30),
            retry: Duration::from_secs(20),
        }
    }
}

/// How often a request that failed is tried again.
const RETRIES: usize = 6;

/// Time before an object is created again because no answer came.
const AGAIN: Duration = Duration::from_millis(100);

/// Minimum length of a value that is removed from error texts.
const SECRET: usize = 4;

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The settings in the environment are wrong or missing.
    #[error("the settings of {place} in the environment are wrong: {what}")]
    Settings {
        /// The address of the store.
        place: String,
        /// What is wrong, without credentials.
        what: String,
    },
    /// The address of the server has no encryption.
    #[error("the server of {place} is reached without TLS: {endpoint}")]
    Plain {
        /// The address of the store.
        place: String,
        /// The address of the server.
        endpoint: String,
    },
    /// The client could not be set up.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The client could not be set up.
    #[error("the client of the bucket could not be set up: {0}")]
    Http(#[source] reqwest::Error),
    /// The store itself does not work.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Gives the client of a bucket the HTTP client that all parts of Spillgate use.
#[derive(Debug)]
struct Connector(Guarded);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

impl BucketStore {
    /// Connects with a bucket. Makes no request. `environment` has the variables of the process, from
    /// which those of the bucket's kind are taken (`AWS_…`, `GOOGLE_…` or `AZURE_…`).
    pub fn connect(
        address: &Address,
        environment: &[(String, String)],
        patience: Patience,
        cache: Arc<FileStore>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Self, ConnectError> {
        let (objects, swap) = match &address.kind {
            Kind::Directory(path) => directory(path)?,
            _ => (remote(address, environment, patience)?, Swap::Conditional),
        };
        let prefix = match &address.kind {
            Kind::Directory(_) => Ok(Path::default()),
            _ => Path::from_url_path(address.url.path()),
        };
        let prefix = prefix.map_err(|error| ConnectError::Settings {
            place: address.to_string(),
            what: error.to_string(),
        })?;
        let bucket = Bucket {
            objects,
            layout: Layout::below(&prefix),
            swap,
            place: address.to_string().into(),
            part: PART,
            again: Again {
                time: patience.retry,
                pause: AGAIN,
            },
            observer: None,
        };
        Ok(Self::new(bucket, cache, clock, options)?)
    }

    /// Returns a store in a bucket that is reached otherwise, for tests.
    pub fn over(
        objects: Arc<dyn ObjectStore>,
        place: &str,
        cache: Arc<FileStore>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Self, StoreError> {
        let bucket = Bucket {
            objects,
            layout: Layout::below(&Path::default()),
            swap: Swap::Conditional,
            place: place.into(),
            part: PART,
            again: Again {
                time: Duration::ZERO,
                pause: AGAIN,
            },
            observer: None,
        };
        Self::new(bucket, cache, clock, options)
    }
}

/// Returns a directory as a bucket.
fn directory(path: &std::path::Path) -> Result<(Arc<dyn ObjectStore>, Swap), StoreError> {
    let failed = |source| {
        let path = path.to_owned();
        StoreError::Io { path, source }
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).map_err(failed)?;
    let objects = LocalFileSystem::new_with_prefix(path)
        .map_err(|error| failed(std::io::Error::other(error)))?;
    let objects = objects.with_fsync(true).with_automatic_cleanup(true);
    Ok((
        Arc::new(objects),
        Swap::Locked(path.join(".lock"), Arc::default()),
    ))
}

/// The variables of the environment that the client of a bucket knows, with names in small letters.
struct Variables<'a>(Vec<(String, &'a str)>);

impl<'a> Variables<'a> {
    fn of(kind: &Kind, environment: &'a [(String, String)]) -> Self {
        let (prefix, is_known): (_, fn(&str) -> bool) = match kind {
            Kind::Google => ("GOOGLE_", |name| GoogleConfigKey::from_str(name).is_ok()),
            Kind::Azure => ("AZURE_", |name| AzureConfigKey::from_str(name).is_ok()),
            Kind::S3 | Kind::Directory(_) => {
                ("AWS_", |name| AmazonS3ConfigKey::from_str(name).is_ok())
            }
        };
        let taken = environment
            .iter()
            .filter(|(name, value)| name.starts_with(prefix) && !value.is_empty());
        Self(
            taken
                .map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()))
                .filter(|(name, _)| is_known(name))
                .collect(),
        )
    }

    /// Returns the value of the first of some variables that is set.
    fn first(&self, names: &[&str]) -> Option<&'a str> {
        let find = |wanted: &&str| self.0.iter().find(|(name, _)| name == wanted);
        names.iter().find_map(find).map(|(_, value)| *value)
    }

    /// Gives a builder the values of all variables that it knows.
    fn fill<B, K: FromStr>(&self, builder: B, set: impl Fn(B, K, &str) -> B) -> B {
        let known = self
            .0
            .iter()
            .filter_map(|(name, value)| Some((name.parse().ok()?, value)));
        known.fold(builder, |builder, (key, value)| set(builder, key, value))
    }

    /// Returns all values that are addresses of servers. A proxy is none: what passes through it has
    /// TLS of its own.
    fn addresses(&self) -> impl Iterator<Item = Url> {
        let servers = self.0.iter().filter(|(name, _)| !name.contains("proxy"));
        servers.filter_map(|(_, value)| value.trim().parse().ok())
    }

    /// Returns a text without the values, and without the passwords in them.
    fn without_secrets(&self, text: &str) -> String {
        let values = self.0.iter().map(|(_, value)| (*value).to_owned());
        let mut secrets: Vec<String> = values.collect();
        for url in self.addresses() {
            secrets.extend(url.password().map(str::to_owned));
            secrets.push(url.username().to_owned());
        }
        let secrets = secrets.iter().filter(|value| value.len() >= SECRET);
        secrets.fold(text.to_owned(), |text, value| text.replace(value, "…"))
    }
}

/// Returns the HTTP client for a server, and whether it is reached without TLS.
fn http(
    place: &str,
    variables: &Variables<'_>,
    patience: Patience,
) -> Result<(Guarded, bool), ConnectError> {
    let allowed = ["aws_allow_http", "azure_allow_http", "google_allow_http"];
    let may_be_plain = variables.first(&allowed) == Some("true");
    // Whatever else names a server, such as a file with a key, is checked when a request is made.
    let exposed = variables.addresses().find(is_exposed);
    if let Some(url) = exposed.filter(|_| !may_be_plain) {
        return Err(ConnectError::Plain {
            place: place.to_owned(),
            endpoint: server_of(&url),
        });
    }
    // In the order in which the clients use them.
    let endpoint = variables.first(&[
        "aws_endpoint_url_s3",
        "aws_endpoint_url",
        "aws_endpoint",
        "azure_endpoint",
        "azure_storage_endpoint",
        "google_base_url",
    ]);
    let endpoint = endpoint.and_then(|endpoint| endpoint.parse::<Url>().ok());
    let is_plain = endpoint.as_ref().is_some_and(|url| url.scheme() == "http");
    let is_here = endpoint.is_some_and(|url| is_loopback(&url));
    let certificates = match is_plain {
        true => Certificates::None,
        false => Certificates::Machine,
    };
    let client = builder(certificates)?
        .connect_timeout(patience.connect)
        .timeout(patience.request);
    // This machine is never reached through a proxy.
    let client = match is_here {
        true => client.no_proxy(),
        false => client,
    };
    let client = client.build().map_err(ConnectError::Http)?;
    let guarded = Guarded {
        client,
        may_be_plain,
    };
    Ok((guarded, is_plain))
}

fn remote(
    address: &Address,
    environment: &[(String, String)],
    patience: Patience,
) -> Result<Arc<dyn ObjectStore>, ConnectError> {
    let place = address.to_string();
    let variables = Variables::of(&address.kind, environment);
    let (client, is_plain) = http(&place, &variables, patience)?;
    let connector = Connector(client);
    let retry = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: RETRIES,
        retry_timeout: patience.retry,
    };
    let options = ClientOptions::new().with_allow_http(is_plain);
    let url = address.url.as_str();
    let built: object_store::Result<Arc<dyn ObjectStore>> = match address.kind {
        Kind::Google => {
            let set = |builder: GoogleCloudStorageBuilder, key: GoogleConfigKey, value: &str| {
                builder.with_config(key, value)
            };
            let builder = variables.fill(GoogleCloudStorageBuilder::new(), set);
            let builder = builder.with_url(url).with_retry(retry);
            let builder = builder.with_client_options(options);
            let built = builder.with_http_connector(connector).build();
            built.map(|objects| Arc::new(objects) as _)
        }
        Kind::Azure => {
            let set = |builder: MicrosoftAzureBuilder, key: AzureConfigKey, value: &str| {
                builder.with_config(key, value)
            };
            let builder = variables.fill(MicrosoftAzureBuilder::new(), set);
            let builder = builder.with_url(url).with_retry(retry);
            let builder = builder.with_client_options(options);
            let built = builder.with_http_connector(connector).build();
            built.map(|objects| Arc::new(objects) as _)
        }
        Kind::S3 | Kind::Directory(_) => {
            let set = |builder: AmazonS3Builder, key: AmazonS3ConfigKey, value: &str| {
                builder.with_config(key, value)
            };
            let builder = variables.fill(AmazonS3Builder::new(), set);
            let builder = builder.with_url(url).with_retry(retry);
            let builder = builder.with_client_options(options);
            let built = builder.with_http_connector(connector).build();
            built.map(|objects| Arc::new(objects) as _)
        }
    };
    built.map_err(|error| ConnectError::Settings {
        place,
        what: variables.without_secrets(&error.to_string()),
    })
}
