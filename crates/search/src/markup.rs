//! Finds the elements of markup, and the text between their tags.
//!
//! The text is tokenized as browsers do it, so broken markup does not matter. No tree is built.

use html5gum::{DefaultEmitter, Token, Tokenizer};

/// A part of markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// A tag that begins an element: its name in lower case, and whether it also ends it.
    Start(Vec<u8>, bool),
    /// A tag that ends an element.
    End(Vec<u8>),
    /// Text, with its references decoded.
    Text(Vec<u8>),
    /// A comment and the like.
    Note,
}

/// Returns the parts of a text, front to back, each with its first byte and the byte after the last
/// one. The contents of scripts and styles are no text.
pub(crate) fn parts(text: &[u8]) -> impl Iterator<Item = (usize, usize, Part)> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let mut hidden = false;
    let tokens = Tokenizer::new_with_emitter(text, emitter);
    let is_hidden = |name: &[u8]| [&b"script"[..], b"style"].contains(&name);
    tokens.filter_map(move |token| {
        let Ok(token) = token;
        let (span, part) = match token {
            Token::StartTag(tag) => {
                hidden = is_hidden(&tag.name) && !tag.self_closing;
                (tag.span, Part::Start(tag.name.0, tag.self_closing))
            }
            Token::EndTag(tag) => {
                hidden = false;
                (tag.span, Part::End(tag.name.0))
            }
            Token::String(_) if hidden => return None,
            Token::String(string) => (string.span, Part::Text(string.value.0)),
            Token::Comment(note) => (note.span, Part::Note),
            Token::Doctype(note) => (note.span, Part::Note),
            Token::Error(_) => return None,
        };
        let end = span.end.min(text.len());
        Some((span.start.min(end), end, part))
    })
}

/// Returns whether an element is a part of a line of text.
pub(crate) fn is_inline(name: &[u8]) -> bool {
    const INLINE: &str = "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark q s samp small span \
        strike strong sub sup time tt u var wbr";
    INLINE
        .split_ascii_whitespace()
        .any(|one| one.as_bytes() == name)
}

/// Returns a text without tags and with its references decoded, and each run of blanks as one. Its
/// line breaks stay.
pub(crate) fn readable(text: &str) -> String {
    let bytes = text.as_bytes();
    let breaks = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
    let mut shown = String::new();
    let mut at = 0;
    for (start, end, part) in parts(bytes) {
        match part {
            Part::Text(decoded)
                if memchr::memchr_iter(b'\n', &decoded).count() == breaks(&bytes[start..end]) =>
            {
                shown.push_str(&String::from_utf8_lossy(&decoded));
            }
            // A reference to a line break is none of the text's.
            Part::Text(_) => {
                let lines = bytes[start..end].split(|byte| *byte == b'\n');
                let lines: Vec<String> =
                    lines.map(|line| decoded(line).replace('\n', " ")).collect();
                shown.push_str(&lines.join("\n"));
            }
            Part::Start(name, _) | Part::End(name) if !is_inline(&name) => {
                shown.push(' ');
                let breaks = breaks(&bytes[at.min(start)..end]);
                shown.extend(std::iter::repeat_n('\n', breaks));
            }
            _ => {
                let breaks = breaks(&bytes[at.min(start)..end]);
                shown.extend(std::iter::repeat_n('\n', breaks));
            }
        }
        at = end;
    }
    let lines = shown.split('\n').map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a text without tags with its references decoded.
fn decoded(text: &[u8]) -> String {
    let texts = parts(text).map(|(_, _, part)| match part {
        Part::Text(decoded) => String::from_utf8_lossy(&decoded).into_owned(),
        _ => String::new(),
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_text_keeps_its_lines() {
        let cases = [
            ("<p>a <b>b</b>c</p><p>d", "a bc d"),
            ("<a\n href=x>one</a>\ntwo &lt;3", "\none\ntwo <3"),
            ("a<script>no\n</script>b", "a\nb"),
            ("x &#10; y\nz", "x y\nz"),
            ("1 < 2", "1 < 2"),
        ];
        for (text, want) in cases {
            assert_eq!(readable(text), want, "{text}");
        }
    }
}
