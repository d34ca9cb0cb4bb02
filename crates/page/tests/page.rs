//! The page over its router, with a store on disk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "page/door.rs"]
mod door;
#[path = "page/gateway.rs"]
mod gateway;
#[path = "page/hostile.rs"]
mod hostile;
#[path = "page/house.rs"]
mod house;
#[path = "page/runs.rs"]
mod runs;
#[path = "page/views.rs"]
mod views;
