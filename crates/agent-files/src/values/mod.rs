//! Types of setting values: numbers, sizes, durations, lists and others that a text or a boolean
//! cannot express.
//!
//! Each type defines its range once; its errors and its JSON Schema use the same figures.

mod lists;
mod numbers;
mod times;

pub use lists::{Models, Names};
pub use numbers::{Bytes, Cost, Count, CountOrNone, NumberError, Whole};
pub use times::{CacheFor, Time};
