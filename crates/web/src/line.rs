//! How does any text become one line?

/// The text on one line of at most `longest` characters, without what turns or hides
/// the text around it (controls, marks of direction, signs without width).
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = words.join(" ");
    line.retain(|character| !is_unseen(character));
    match line.char_indices().nth(longest) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line,
    }
}

fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_line_stays_one() {
        for (text, longest, line) in [
            ("  a \n\n b\tc ", 10, "a b c"),
            ("a\u{2028}b\u{85}c\u{1b}[2Jd", 20, "a b c[2Jd"),
            ("a\u{202e}b\u{200b}c\u{e0041}", 20, "abc"),
            ("äöü", 3, "äöü"),
            ("ab cd", 3, "ab…"),
            ("", 3, ""),
        ] {
            assert_eq!(one_line(text, longest), line);
        }
    }
}
