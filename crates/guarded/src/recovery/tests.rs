//! What a refusal ends with, of each kind.
