//! `read_file`.

use serde_json::json;
use spillgate_files::Arguments;

use crate::answer::{Refused, Reply};
use crate::definition::{Definition, schema};
use crate::guarded::Shared;
use crate::rules::Rules;
use crate::stop::Stop;

pub(crate) fn definition(_: &Rules) -> Definition {
    Definition {
        name: "read_file",
        description: String::new(),
        schema: schema(json!({}), &[]),
        is_read_only: true,
        is_open_world: false,
    }
}

pub(crate) fn call(_: &Shared, _: &Arguments, _: &Stop) -> Reply {
    Err(Refused::new("not built"))
}
