//! Values other than texts, booleans and tables.
//!
//! Each type says once what it takes: its errors and its JSON Schema come from the
//! same figures.

mod lists;
mod numbers;
mod times;

pub use lists::{Models, Names};
pub use numbers::{Bytes, Cost, Count, CountOrNone, NumberError, Whole};
pub use times::{CacheFor, Time};
