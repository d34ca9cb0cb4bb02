//! Keeps artifacts in a bucket: S3 and what speaks its protocol, Google Cloud, Azure, a directory.
//!
//! [`BucketStore`] is an [`ArtifactStore`](spillgate_store::ArtifactStore) that several machines can
//! use at the same time. It needs nothing but the bucket: no database, no locks, nobody who
//! coordinates. docs/object-store.md describes it for users,
//! docs/decisions/0042-a-store-in-a-bucket.md has the reasons.

mod address;
mod again;
mod bucket;
mod check;
mod connect;
mod layout;
mod partition;
mod runtime;
mod shares;
mod source;
mod store;
mod swap;
mod sweep;
mod tls;
mod trouble;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use address::{Address, AddressError};
pub use check::Checked;
pub use connect::{ConnectError, Patience};
pub use store::{BucketStore, Options, Sweep};
pub use sweep::{Done, SweepRules};
