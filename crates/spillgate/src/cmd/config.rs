//! `spillgate config`: prints the settings in force and the source of each.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::args::{Common, Config};
use crate::failure::Failure;
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn config(common: &Common, config: &Config, out: &Output) -> Result<u8, Failure> {
    let in_force = Settings::load(common, &config.limits)?.in_force();
    if out.json {
        let members: Map<String, Value> = in_force
            .into_iter()
            .map(|one| (one.key, json!({"value": one.value, "from": one.from})))
            .collect();
        out.object(&Value::Object(members))?;
        return Ok(0);
    }
    let mut text = String::new();
    for one in in_force {
        let value = one.value.to_string();
        writeln!(text, "{:<36} {value:<32} {}", one.key, one.from).expect("writing to a string");
    }
    out.raw(text.as_bytes())?;
    Ok(0)
}
