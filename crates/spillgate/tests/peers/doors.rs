//! Tests of the hooks with further real clients. `cargo xtask test-doors` installs them (0.6 GB) and
//! runs these tests; continuous integration does not.

use crate::agent::hooked;

#[test]
fn gemini_cli_shows_its_model_previews_of_its_own_tools() {
    hooked("gemini");
}

#[test]
fn opencode_shows_its_model_previews_of_its_own_tools() {
    hooked("opencode");
}

#[test]
fn copilot_cli_shows_its_model_previews_of_its_own_tools() {
    hooked("copilot");
}
