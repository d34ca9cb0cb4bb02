//! `execute_shell`.

use serde_json::json;
use spillgate_files::Arguments;

use crate::answer::{Refused, Reply};
use crate::definition::{Definition, schema};
use crate::guarded::Shared;

pub(crate) fn definition(_: &crate::ShellRules) -> Definition {
    Definition {
        name: "execute_shell",
        description: String::new(),
        schema: schema(json!({}), &[]),
        is_read_only: false,
        is_open_world: true,
    }
}

pub(crate) async fn call(_: &Shared, _: &Arguments) -> Reply {
    std::future::ready(()).await;
    Err(Refused::new("not built"))
}
