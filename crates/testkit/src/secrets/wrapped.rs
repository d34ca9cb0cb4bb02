//! Contexts that encode a secret: escapes of JSON and Python, base64, URL encoding, and terminal
//! colours.

use super::context::{Coding, Context, Sample};
use super::encoding::{json, json_for_html, json_with_slashes, marked_base64, percent, python};
use super::filler::{Filler, members, some_lines};
use super::kinds::Form;
use super::marked::Marked;
use super::random::Random;

/// The most filler on each side inside base64, in bytes.
const INSIDE: usize = 400;

/// Contexts that encode.
pub(super) const ENCODED: &[Context] = &[
    Context::new(
        "json-string-line",
        Coding::Json(1),
        Filler::None,
        json_string_line,
    ),
    Context::new(
        "base64-start-0",
        Coding::Base64,
        Filler::None,
        base64_in_yaml,
    ),
    Context::new("ansi-line", Coding::Colours, Filler::Log, ansi_line),
    Context::new("json-in-json", Coding::Json(2), Filler::None, json_in_json),
    Context::new("url-form", Coding::Percent, Filler::Log, url_form),
    Context::new(
        "base64-wrapped",
        Coding::Base64,
        Filler::None,
        base64_in_mail,
    ),
    Context::new("json-unicode", Coding::Json(1), Filler::None, json_unicode),
    Context::new("ansi-value", Coding::Colours, Filler::Settings, |s, _| {
        s.line().hug("\u{1b}[32m", "\u{1b}[0m")
    }),
    Context::new(
        "json-in-json-in-json",
        Coding::Json(3),
        Filler::None,
        json_thrice,
    ),
    Context::new(
        "base64-start-1",
        Coding::Base64,
        Filler::None,
        base64_in_json,
    ),
    Context::new("python-bytes", Coding::Python, Filler::Log, python_bytes),
    Context::new("ansi-in-json", Coding::Json(1), Filler::None, ansi_in_json),
    Context::new("url-json", Coding::JsonInUrl, Filler::Log, url_json),
    Context::new("json-slashes", Coding::Json(1), Filler::None, json_slashes),
    Context::new(
        "base64-start-2",
        Coding::Base64,
        Filler::None,
        base64_in_data_url,
    ),
    Context::new("ansi-diff", Coding::Colours, Filler::None, ansi_diff),
    Context::new(
        "json-break-before",
        Coding::Json(1),
        Filler::None,
        json_break_before,
    ),
    Context::new("base64-url", Coding::Base64, Filler::None, base64_url),
];

/// Returns the text between two lines of filler.
fn inside(sample: &Sample, most: usize, random: &mut Random) -> Marked {
    let (before, after) = (
        some_lines(Filler::Settings, most, random),
        some_lines(Filler::Settings, most, random),
    );
    sample.line().around(&before, &format!("\n{after}"))
}

/// Returns the result of a tool: an object whose member `stdout` is this JSON string.
fn stdout(text: Marked, random: &mut Random) -> Marked {
    let before = members(" ", random);
    let after = random.fill("\", \"exit_code\": 0, \"duration_ms\": @{1-900}}");
    text.around(&format!("{{{before}\"stdout\": \""), &after)
}

/// Returns the value as a member of a small object.
fn object(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("{\"@{word}\":@{1-900},");
    let member = match sample.form {
        Form::Whole => format!("{before}\"content\":\""),
        Form::Token | Form::Keyed => format!("{before}\"{}\":\"", sample.field()),
    };
    let after = random.fill("\",\"@{word}\":true}");
    sample.value.map(json).around(&member, &after)
}

fn json_string_line(sample: &Sample, random: &mut Random) -> Marked {
    let text = inside(sample, 1000, random).map(json);
    stdout(text, random)
}

fn json_in_json(sample: &Sample, random: &mut Random) -> Marked {
    let text = object(sample, random).map(json);
    stdout(text, random)
}

fn json_thrice(sample: &Sample, random: &mut Random) -> Marked {
    let text = object(sample, random)
        .map(json)
        .around("{\"body\":\"", "\"}")
        .map(json);
    stdout(text, random)
}

fn json_unicode(sample: &Sample, random: &mut Random) -> Marked {
    let quoted = match sample.form {
        Form::Whole => sample.value.clone(),
        Form::Token | Form::Keyed => sample
            .value
            .clone()
            .around(&format!("{}=\"", sample.key), "\""),
    };
    let before = random.fill("@{sentence}\n");
    stdout(quoted.around(&before, "\n").map(json_for_html), random)
}

fn json_slashes(sample: &Sample, random: &mut Random) -> Marked {
    let text = inside(sample, 600, random).map(json_with_slashes);
    stdout(text, random)
}

/// The escape `\n` or `\t` stands directly before the value.
fn json_break_before(sample: &Sample, random: &mut Random) -> Marked {
    let text = match sample.form {
        Form::Whole => sample.value.clone().around("\n", "\n"),
        Form::Token => {
            let before = random.fill("@{Word} made a new @{word} for @{name}:\n");
            sample.value.clone().around(&before, "\n")
        }
        Form::Keyed => sample
            .value
            .clone()
            .around(&format!("{}\t", sample.key), "\n"),
    };
    stdout(text.map(json), random)
}

fn ansi_in_json(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("\u{1b}[36m@{word}\u{1b}[0m | ");
    let text = sample
        .line()
        .hug("\u{1b}[33m", "\u{1b}[0m")
        .around(&before, "\n");
    stdout(text.map(json), random)
}

fn ansi_line(sample: &Sample, random: &mut Random) -> Marked {
    let before = random
        .fill("\u{1b}[2m@{time}\u{1b}[0m \u{1b}[32m INFO\u{1b}[0m \u{1b}[2m@{word}:\u{1b}[0m ");
    let after = random.fill(" \u{1b}[3m@{word}\u{1b}[0m\u{1b}[2m=\u{1b}[0m@{1-90}");
    match sample.form {
        Form::Whole => sample.value.clone().around(&before, &after),
        Form::Token | Form::Keyed => {
            let name = format!(
                "{before}\u{1b}[3m{}\u{1b}[0m\u{1b}[2m=\u{1b}[0m",
                sample.field()
            );
            sample.value.clone().around(&name, &after)
        }
    }
}

/// Writes lines as `git diff --color` does: a colour at the start and at the end of each.
fn ansi_diff(sample: &Sample, random: &mut Random) -> Marked {
    let file = random.fill("@{word}.env");
    let index = random.fill("index @{hex:7}..@{hex:7} 100644");
    let before = format!(
        "\u{1b}[1mdiff --git a/{file} b/{file}\u{1b}[m\n\u{1b}[1m{index}\u{1b}[m\n\
         \u{1b}[36m@@ -1 +1,9 @@\u{1b}[m\n"
    );
    let added = "\u{1b}[32m+\u{1b}[m\u{1b}[32m";
    let line_break = format!("\u{1b}[m\n{added}");
    let after = random.fill("\u{1b}[m\n @{WORD}=@{1-90}\u{1b}[m\n");
    sample
        .line()
        .map(|part| part.replace('\n', &line_break))
        .around(&(before + added), &after)
}

fn python_bytes(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("@{time} DEBUG @{word}: read b'");
    sample
        .line()
        .around("", "\n")
        .map(python)
        .around(&before, "'")
}

fn url_form(sample: &Sample, random: &mut Random) -> Marked {
    let before =
        random.fill("@{time} DEBUG POST https://@{host}/v1/@{word} body: @{word}=@{1-90}&");
    let name = match sample.form {
        Form::Whole => "text".to_owned(),
        Form::Token | Form::Keyed => sample.field(),
    };
    sample
        .value
        .map(percent)
        .around(&format!("{before}{name}="), "&state=done")
}

fn url_json(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("@{time} INFO GET https://@{host}/@{word}?id=@{1-90}&payload=");
    object(sample, random)
        .map(percent)
        .around(&before, "&state=done HTTP/1.1")
}

/// Returns the sample in base64. The secret starts in the letter that holds the first bits of
/// its `start`th byte of three.
fn base64_from(
    start: usize,
    columns: Option<usize>,
    sample: &Sample,
    random: &mut Random,
) -> Marked {
    let text = inside(sample, INSIDE, random);
    let missing = (start + 3 - text.before.len() % 3) % 3;
    marked_base64(&text.around(&"\n".repeat(missing), ""), columns)
}

fn base64_in_yaml(sample: &Sample, random: &mut Random) -> Marked {
    let before = random
        .fill("apiVersion: v1\nkind: Secret\nmetadata:\n  name: @{word}\ndata:\n  settings: ");
    let after = random.fill("\ntype: Opaque\n");
    base64_from(0, None, sample, random).around(&before, &after)
}

fn base64_in_json(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("{\"name\":\"@{word}\",\"size\":@{1-900},\"content\":\"");
    base64_from(1, None, sample, random).around(&before, "\",\"encoding\":\"base64\"}\n")
}

fn base64_in_data_url(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("<p>@{sentence}</p>\n<a download href=\"data:text/plain;base64,");
    base64_from(2, None, sample, random).around(&before, "\">settings</a>\n")
}

fn base64_in_mail(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill(
        "From: @{email}\nSubject: @{Word}\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n",
    );
    base64_from(random.below(3), Some(76), sample, random).around(&before, "\n\n--\n")
}

fn base64_url(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("{\"id\":\"@{hex:16}\",\"payload\":{\"body\":{\"data\":\"");
    let text = base64_from(random.below(3), None, sample, random);
    let text = text.map(|part| part.replace('+', "-").replace('/', "_").replace('=', ""));
    text.around(&before, "\"}}}\n")
}
