//! What a build without some features answers for the parts that it does not contain.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::{Failure, Fault};

/// The arguments of a command that this build does not contain. They are accepted unread, so that
/// the command can say which feature brings it.
#[derive(Debug, Clone, clap::Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct LeftOut {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The settings of a part that this build does not contain. They are kept as they were written, so
/// that all builds can share a configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct UnreadSettings(Map<String, Value>);

/// The error of a command or an option that needs a feature.
pub(crate) fn failure(what: &str, feature: &str) -> Failure {
    let hint = format!(
        "`cargo install --locked --path crates/spillgate --features {feature}` builds it; `--features full` brings everything"
    );
    Failure::new(
        "left_out",
        Fault::Caller,
        format!("this build has no `{what}`: it was made without the feature `{feature}`"),
    )
    .hint(hint)
    .code(2)
}
