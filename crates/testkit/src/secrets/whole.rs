//! Contexts that show a text of one or many lines as it is, or with something before each line.

use super::context::{Coding, Context, Sample};
use super::encoding::html;
use super::filler::Filler;
use super::marked::Marked;
use super::random::Random;

const fn context(
    name: &'static str,
    coding: Coding,
    filler: Filler,
    write: fn(&Sample, &mut Random) -> Marked,
) -> Context {
    Context::new(name, coding, filler, write)
}

/// Contexts for a whole text.
pub(super) const PLAIN: &[Context] = &[
    context("file", Coding::Plain, Filler::None, |s, _| s.value.clone()),
    context("diff", Coding::Prefixed, Filler::None, diff),
    context("shell-output", Coding::Plain, Filler::Shell, shell_output),
    context("yaml-block", Coding::Prefixed, Filler::None, yaml_block),
    context("log-lines", Coding::Prefixed, Filler::Log, log_lines),
    context("html-pre", Coding::Plain, Filler::None, html_pre),
    context("heredoc", Coding::Plain, Filler::Shell, heredoc),
    context("numbered", Coding::Prefixed, Filler::Shell, numbered),
    context("code-fence", Coding::Plain, Filler::Prose, code_fence),
    context("python-string", Coding::Plain, Filler::Code, python_string),
    context("stack-trace", Coding::Prefixed, Filler::Log, stack_trace),
    context("grep-hits", Coding::Prefixed, Filler::None, grep_hits),
    context("quoted-mail", Coding::Prefixed, Filler::Prose, |s, _| {
        s.value.prefixed("> ")
    }),
];

fn around(sample: &Sample, before: &str, after: &str) -> Marked {
    sample.value.clone().around(before, after)
}

fn diff(sample: &Sample, random: &mut Random) -> Marked {
    let file = random.fill("@{word}.txt");
    let index = random.fill("new file mode 100644\nindex 0000000..@{hex:7}");
    let before = format!(
        "diff --git a/{file} b/{file}\n{index}\n--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,9 @@\n"
    );
    sample.value.prefixed("+").around(&before, "\n")
}

fn shell_output(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("+ cat /home/@{name}/@{word}/@{word}\n");
    let after = random.fill("\n+ ls /srv/@{word}");
    around(sample, &before, &after)
}

fn yaml_block(sample: &Sample, random: &mut Random) -> Marked {
    let before =
        random.fill("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: @{word}\ndata:\n  ");
    let after = random.fill("\n  level: \"@{1-9}\"\n");
    let block = sample.value.prefixed("    ");
    block.around(&format!("{before}{}: |\n", sample.option()), &after)
}

fn log_lines(sample: &Sample, random: &mut Random) -> Marked {
    sample
        .value
        .prefixed(&random.fill("@{time} @{word}-@{1-9} | "))
}

fn html_pre(sample: &Sample, random: &mut Random) -> Marked {
    let before =
        random.fill("<!DOCTYPE html>\n<html><body>\n<h1>@{Word}</h1>\n<p>@{sentence}</p>\n<pre>");
    let after = random.fill("</pre>\n<p>@{sentence}</p>\n</body></html>\n");
    sample.value.map(html).around(&before, &after)
}

fn heredoc(sample: &Sample, random: &mut Random) -> Marked {
    around(
        sample,
        &random.fill("cat > /tmp/@{word} <<'EOF'\n"),
        "\nEOF",
    )
}

/// Writes the text as `cat -n` does.
fn numbered(sample: &Sample, _: &mut Random) -> Marked {
    let mut line = 1;
    let mut number = |part: &str| {
        let mut lines = part.split('\n');
        let mut text = lines.next().unwrap_or_default().to_owned();
        for next in lines {
            line += 1;
            text += &format!("\n{line:>6}\t{next}");
        }
        text
    };
    let (before, secret, after) = (
        number(&sample.value.before),
        number(&sample.value.secret),
        number(&sample.value.after),
    );
    Marked {
        before,
        secret,
        after,
    }
    .around("     1\t", "")
}

fn code_fence(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill("The @{word} needs this:\n\n```\n");
    around(sample, &before, "\n```\n")
}

fn python_string(sample: &Sample, _: &mut Random) -> Marked {
    around(sample, &format!("{} = \"\"\"\n", sample.key), "\n\"\"\"")
}

fn stack_trace(sample: &Sample, random: &mut Random) -> Marked {
    let before = random.fill(
        "panic: cannot read @{word} settings\n\ngoroutine @{1-90} [running]:\nmain.load(...)\n\t/app/\
         @{word}.go:@{1-900}\ninput was:\n",
    );
    sample
        .value
        .prefixed("\t")
        .around(&before, "\nexit status 2")
}

fn grep_hits(sample: &Sample, random: &mut Random) -> Marked {
    let file = random.fill("deploy/@{word}/@{word}");
    let before = random.fill("deploy/@{word}/@{word}:@{word}\n");
    sample
        .value
        .prefixed(&format!("{file}:"))
        .around(&before, "\n")
}
