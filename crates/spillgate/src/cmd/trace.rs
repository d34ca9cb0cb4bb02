//! Formats the trace of an extraction for a person.

use std::fmt::Write;

use spillgate_extract::Op;

/// Formats the operations, one per line, nested ones indented. Replies are left out, because they
/// can contain any text; the JSON trace contains them.
pub(crate) fn rendered(op: &Op) -> String {
    let mut text = String::new();
    enter(&mut text, op, 0);
    text
}

fn enter(text: &mut String, op: &Op, depth: usize) {
    let indent = "  ".repeat(depth);
    let name = op.name.escape_debug();
    let mut figures = vec![
        format!("at {} ms", op.at_ms),
        format!("took {} ms", op.took_ms),
    ];
    figures.extend(op.unfinished.then(|| "unfinished".to_owned()));
    figures.extend(op.messages.map(|messages| format!("{messages} messages")));
    figures.extend(op.request_bytes.map(|bytes| format!("{bytes} bytes asked")));
    figures.extend(
        op.response_bytes
            .map(|bytes| format!("{bytes} bytes answered")),
    );
    if let Some(usage) = &op.usage {
        figures.push(format!("{} tokens in, {} out", usage.input, usage.output));
        figures.extend(usage.cost.map(|cost| cost.to_string()));
    }
    figures.extend(
        op.target
            .as_ref()
            .map(|target| target.escape_debug().to_string()),
    );
    let figures = figures.join(", ");
    writeln!(text, "{indent}{name}: {figures}").expect("writing to a string");
    if let Some(error) = &op.error {
        writeln!(text, "{indent}  error: {}", error.escape_debug()).expect("writing to a string");
    }
    for child in &op.children {
        enter(text, child, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use spillgate_extract::OpKind;
    use spillgate_llm::Usage;

    use super::*;

    #[test]
    fn a_tree_is_indented_and_harmless() {
        let map = Op {
            at_ms: 3,
            took_ms: 900,
            messages: Some(1),
            request_bytes: Some(24_000),
            target: Some("openai/gpt-4o".to_owned()),
            usage: Some(Usage {
                input: 6000,
                output: 80,
                ..Usage::default()
            }),
            ..Op::new(OpKind::Llm, "map 1/2").with_response("E4217")
        };
        let failed = Op {
            error: Some("no answer\u{1b}[31m\nin time".to_owned()),
            ..Op::new(OpKind::Llm, "map 2/2")
        };
        let tree = Op {
            children: vec![map, failed],
            ..Op::new(OpKind::Session, "full-chunked")
        };
        assert_snapshot!(rendered(&tree), @r"
        full-chunked: at 0 ms, took 0 ms
          map 1/2: at 3 ms, took 900 ms, 1 messages, 24000 bytes asked, 5 bytes answered, 6000 tokens in, 80 out, openai/gpt-4o
          map 2/2: at 0 ms, took 0 ms
            error: no answer\u{1b}[31m\nin time
        ");
    }
}
