//! The contexts in which a secret stands, and those that show a value behind its name as it is.

use super::encoding::{html, json, percent};
use super::filler::{Filler, members};
use super::kinds::Form;
use super::marked::Marked;
use super::random::Random;

/// A secret before a context shows it.
#[derive(Debug)]
pub(super) struct Sample {
    /// The name of the secret in an environment, such as `AWS_ACCESS_KEY_ID`.
    pub(super) key: &'static str,
    pub(super) form: Form,
    pub(super) value: Marked,
}

impl Sample {
    /// The name as a field is named: `aws_access_key_id`.
    pub(super) fn field(&self) -> String {
        self.key.to_lowercase()
    }

    /// The name as a header or an option is named: `aws-access-key-id`.
    pub(super) fn option(&self) -> String {
        self.field().replace('_', "-")
    }

    /// The name as JavaScript writes it: `awsAccessKeyId`.
    pub(super) fn camel(&self) -> String {
        let field = self.field();
        let mut words = field.split('_').map(str::to_owned);
        let first = words.next().unwrap_or_default();
        first
            + &words
                .map(|word| word[..1].to_uppercase() + &word[1..])
                .collect::<String>()
    }

    /// The text of a whole sample, or a value behind its name: `KEY=value`.
    pub(super) fn line(&self) -> Marked {
        match self.form {
            Form::Whole => self.value.clone(),
            Form::Token | Form::Keyed => self.value.clone().around(&format!("{}=", self.key), ""),
        }
    }
}

/// How a context writes the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// As it is.
    Plain,
    /// With something at the start of each line but the first.
    Prefixed,
    /// As it is, between terminal colours.
    Colours,
    /// In so many JSON strings, one inside the other.
    Json(u8),
    Percent,
    /// In a JSON string in a URL.
    JsonInUrl,
    /// In a byte string of Python.
    Python,
    Base64,
}

impl Coding {
    pub(super) fn is_encoded(self) -> bool {
        !matches!(self, Self::Plain | Self::Prefixed)
    }
}

/// A place in which a secret stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    pub(super) name: &'static str,
    pub(super) coding: Coding,
    /// What stands around the text that `write` returns.
    pub(super) filler: Filler,
    pub(super) write: fn(&Sample, &mut Random) -> Marked,
}

impl Context {
    pub(super) const fn new(
        name: &'static str,
        coding: Coding,
        filler: Filler,
        write: fn(&Sample, &mut Random) -> Marked,
    ) -> Self {
        Self {
            name,
            coding,
            filler,
            write,
        }
    }
}

const fn plain(
    name: &'static str,
    filler: Filler,
    write: fn(&Sample, &mut Random) -> Marked,
) -> Context {
    Context::new(name, Coding::Plain, filler, write)
}

/// Contexts for a value.
pub(super) const PLAIN: &[Context] = &[
    plain("env", Filler::Settings, |s, _| s.line()),
    plain("json-laid-out", Filler::None, json_laid_out),
    plain("log-line", Filler::Log, log_line),
    plain("yaml", Filler::None, yaml),
    plain("diff", Filler::None, diff),
    plain("curl-header", Filler::Shell, curl_header),
    plain("env-export", Filler::Settings, |s, _| {
        wrap(s, &format!("export {}=\"", s.key), "\"")
    }),
    plain("csv-row", Filler::None, csv_row),
    plain("json-line", Filler::None, json_line),
    plain("shell-trace", Filler::Shell, |s, _| {
        wrap(s, &format!("+ export {}=", s.key), "")
    }),
    plain("toml", Filler::None, toml),
    plain("stack-trace", Filler::Log, stack_trace),
    plain("json-nested", Filler::None, json_nested),
    plain("html-table", Filler::None, html_table),
    plain("ini", Filler::None, ini),
    Context::new("url-query", Coding::Percent, Filler::Log, url_query),
    plain("python-code", Filler::Code, |s, _| {
        wrap(s, &format!("{} = \"", s.key), "\"")
    }),
    plain("yaml-env", Filler::None, yaml_env),
    plain("json-log", Filler::None, json_log),
    plain("shell-history", Filler::Shell, shell_history),
    plain("javascript-code", Filler::None, javascript),
    plain("docker-inspect", Filler::None, docker_inspect),
    plain("properties", Filler::None, properties),
    plain("xml", Filler::None, xml),
    plain("markdown-table", Filler::Prose, markdown_table),
    plain("grep-hit", Filler::None, grep_hit),
    plain("command-option", Filler::Shell, |s, r| {
        let command = r.fill("+ ./bin/@{word} --@{word}=@{word} ");
        wrap(s, &format!("{command}--{}=", s.option()), "")
    }),
];

/// Returns the value with a text before and another behind it.
fn wrap(sample: &Sample, before: &str, after: &str) -> Marked {
    sample.value.clone().around(before, after)
}

/// Returns the value as a JSON string behind its name.
fn member(sample: &Sample, name: &str, space: &str) -> Marked {
    sample
        .value
        .map(json)
        .around(&format!("\"{name}\":{space}\""), "\"")
}

fn json_laid_out(sample: &Sample, random: &mut Random) -> Marked {
    let (before, after) = (
        members("\n  ", random),
        random.fill(",\n  \"@{word}\": @{1-90}\n}"),
    );
    member(sample, &sample.field(), " ").around(&format!("{{{before}\n  "), &after)
}

fn json_line(sample: &Sample, random: &mut Random) -> Marked {
    let (before, after) = (
        members("", random),
        random.fill(",\"@{word}\":[@{1-90},@{1-90}]}"),
    );
    member(sample, &sample.camel(), "").around(&format!("{{{before}"), &after)
}

fn json_nested(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("{\"@{word}\":{\"items\":[{\"id\":@{1-900},\"name\":\"@{name}\"},{");
    let before = before + &members(" ", random) + "\"settings\": {";
    member(sample, sample.key, " ").around(&before, "}}],\"next\": null}}")
}

fn json_log(sample: &Sample, random: &mut Random) -> Marked {
    let entry = "{\"level\":\"info\",\"ts\":\"@{time}\",\"msg\":\"@{sentence}\",\"id\":@{1-900}}\n";
    let entries: String = (0..random.below(12)).map(|_| random.fill(entry)).collect();
    let start = random.fill("{\"level\":\"debug\",\"ts\":\"@{time}\",\"msg\":\"settings read\",");
    let after = format!("}}\n{}", random.fill(entry));
    member(sample, &sample.field(), "").around(&(entries + &start), &after)
}

fn log_line(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("@{time} DEBUG @{word}: settings read: @{word}=@{1-900} ");
    let after = random.fill(" @{word}=@{true|false}");
    wrap(sample, &format!("{before}{}=", sample.field()), &after)
}

fn yaml(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("@{word}:\n  host: @{host}\n  port: @{1024-9000}\n  ");
    let quote = random.pick(&["\"", "'", ""]);
    let after = random.fill("\n  retries: @{1-9}\n@{word}:\n  - @{word}\n  - @{word}\n");
    wrap(
        sample,
        &format!("{before}{}: {quote}", sample.field()),
        &format!("{quote}{after}"),
    )
}

fn yaml_env(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill(
        "    spec:\n      containers:\n      - name: @{word}\n        image: @{word}:@{semver}\n        \
         env:\n        - name: @{WORD}_HOST\n          value: @{host}\n        - name: ",
    );
    let after = random.fill("\"\n        - name: @{WORD}_LEVEL\n          value: \"@{1-9}\"\n");
    wrap(
        sample,
        &format!("{before}{}\n          value: \"", sample.key),
        &after,
    )
}

fn toml(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("[@{word}]\nhost = \"@{host}\"\nretries = @{1-9}\n");
    let after = random.fill("\"\n\n[@{word}.@{word}]\nenabled = @{true|false}\n");
    wrap(sample, &format!("{before}{} = \"", sample.field()), &after)
}

fn ini(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("; @{sentence}\n[@{word}]\nhost = @{host}\n");
    let after = random.fill("\ntimeout = @{1-90}\n\n[@{word}]\nlevel = @{1-9}\n");
    wrap(sample, &format!("{before}{} = ", sample.field()), &after)
}

fn properties(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("@{word}.host=@{host}\n@{word}.port=@{1024-9000}\n@{word}.");
    let after = random.fill("\n@{word}.pool.size=@{1-90}\n");
    wrap(sample, &format!("{before}{}=", sample.option()), &after)
}

fn diff(sample: &Sample, random: &mut Random) -> Marked {
    let file = random.fill("@{word}/settings.py");
    let index = random.fill("index @{hex:7}..@{hex:7} 100644");
    let before = format!(
        "diff --git a/{file} b/{file}\n{index}\n--- a/{file}\n+++ b/{file}\n@@ -1,3 +1,3 @@\n import os\n"
    );
    let sign = random.pick(&["+", "-"]);
    let after = random.fill("\"\n @{WORD} = @{1-900}\n");
    wrap(
        sample,
        &format!("{before}{sign}{} = \"", sample.key),
        &after,
    )
}

fn curl_header(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill(
        "* Connected to @{host} (@{ip}) port 443\n> GET /v1/@{word}s HTTP/1.1\n> Host: @{host}\n\
         > User-Agent: curl/8.5.0\n> Accept: */*\n> ",
    );
    let after = random.fill("\n>\n< HTTP/1.1 200 OK\n< Content-Length: @{10-9000}\n");
    wrap(sample, &format!("{before}X-{}: ", sample.option()), &after)
}

fn csv_row(sample: &Sample, random: &mut Random) -> Marked {
    let row = "@{WORD}_@{WORD},@{word}-@{1-900},@{date}\n";
    let rows = |random: &mut Random| -> String {
        (0..random.below(20)).map(|_| random.fill(row)).collect()
    };
    let before = format!("name,value,changed\n{}{},", rows(random), sample.key);
    let after = random.fill(",@{date}\n") + &rows(random);
    wrap(sample, &before, &after)
}

fn stack_trace(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill(
        "Traceback (most recent call last):\n  File \"/app/@{word}/@{word}.py\", line @{1-900}, in \
         connect\n    self.session.open(**settings)\n  File \"/app/@{word}/session.py\", line @{1-900}, \
         in open\n    raise @{Word}Error(f\"rejected: {settings}\")\n@{word}.errors.@{Word}Error: \
         rejected: {'host': '@{host}', '",
    );
    let after = random.fill("', 'timeout': @{1-90}}");
    wrap(sample, &format!("{before}{}': '", sample.field()), &after)
}

fn html_table(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill(
        "<!DOCTYPE html>\n<html><head><title>@{Word}</title></head>\n<body>\n<p>@{sentence}</p>\n<table>\n\
         <tr><td>@{WORD}_HOST</td><td>@{host}</td></tr>\n<tr><td>",
    );
    let after = random.fill("</code></td></tr>\n</table>\n<p>@{sentence}</p>\n</body></html>\n");
    sample
        .value
        .map(html)
        .around(&format!("{before}{}</td><td><code>", sample.key), &after)
}

fn xml(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill(
        "<?xml version=\"1.0\"?>\n<configuration>\n  <appSettings>\n    <add key=\"@{Word}\" \
         value=\"@{word}\"/>\n    <add key=\"",
    );
    let after = "\"/>\n  </appSettings>\n</configuration>\n";
    sample
        .value
        .map(html)
        .around(&format!("{before}{}\" value=\"", sample.key), after)
}

fn url_query(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("@{time} INFO GET https://@{host}/v1/@{word}s?limit=@{1-90}&");
    let after = random.fill("&page=@{1-90} -> 200");
    sample
        .value
        .map(percent)
        .around(&format!("{before}{}=", sample.field()), &after)
}

fn shell_history(sample: &Sample, random: &mut Random) -> Marked {
    let line = random.fill("  @{100-900}  curl -s https://@{host}/v1/@{word} -H '");
    wrap(sample, &format!("{line}{}: ", sample.option()), "'")
}

fn javascript(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("const client = new @{Word}Client({\n  host: '@{host}',\n  ");
    let after = random.fill("',\n  retries: @{1-9},\n});\nexport default client;\n");
    wrap(sample, &format!("{before}{}: '", sample.camel()), &after)
}

fn docker_inspect(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill(
        "[\n    {\n        \"Id\": \"@{hex:64}\",\n        \"Created\": \"@{time}\",\n        \"Config\": \
         {\n            \"Env\": [\n                \"PATH=/usr/local/bin:/usr/bin:/bin\",\n                \"",
    );
    let after = random.fill(
        "\",\n                \"LANG=C.UTF-8\"\n            ],\n            \"Image\": \
         \"sha256:@{hex:64}\"\n        }\n    }\n]\n",
    );
    sample.line().map(json).around(&before, &after)
}

fn markdown_table(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("| Setting | Value |\n|---|---|\n| `@{WORD}_HOST` | `@{host}` |\n| `");
    wrap(sample, &format!("{before}{}` | `", sample.key), "` |")
}

fn grep_hit(sample: &Sample, random: &mut Random) -> Marked {
    let hit = "src/@{word}/@{word}.env:@{1-900}:";
    let other = "@{WORD}_@{WORD}=@{word}\n";
    let mut others = |most| -> String {
        (0..random.below(most))
            .map(|_| random.fill(&[hit, other].concat()))
            .collect()
    };
    let (before, after) = (others(20), others(20));
    sample
        .line()
        .around(&(before + &random.fill(hit)), &format!("\n{after}"))
}
