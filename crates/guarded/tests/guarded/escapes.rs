//! Does any name lead out?
