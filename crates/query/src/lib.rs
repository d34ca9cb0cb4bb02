//! What does a jq filter give of a stored text?
