//! `spillgate agent`: a model, its tools and a report, from a prompt file.

mod ending;
mod live;
mod room;
mod stop;
mod task;
mod trace_file;
mod view;
mod words;
