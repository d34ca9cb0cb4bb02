//! Finds hidden characters that are legitimate: in emoji and in scripts that need them.

/// Returns the number of bytes from `at` on that stay unchanged: the hidden character at `at` and
/// those that belong to it, or 0 if the text does not need the character.
pub(crate) fn kept(text: &str, at: usize) -> usize {
    let before = text[..at].chars().next_back();
    let mut from = text[at..].chars();
    let (Some(c), next) = (from.next(), from.next()) else {
        return 0;
    };
    let is_needed = match c {
        '\r' => next == Some('\n'),
        '\u{200d}' => {
            before.is_some_and(joins)
                || before.is_some_and(may_be_joined) && next.is_some_and(is_symbol)
        }
        '\u{200c}' => before.is_some_and(joins),
        '\u{200b}' => before.is_some_and(has_no_spaces) && next.is_some_and(has_no_spaces),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => {
            before.is_some_and(|before| matches!(before, '\u{1810}'..='\u{18aa}'))
        }
        '\u{fe0e}'..='\u{fe0f}' => {
            let is_keycap = next == Some('\u{20e3}');
            before.is_some_and(|before| has_two_styles(before) || is_keycap && is_key(before))
        }
        '\u{fe00}'..='\u{fe02}' => before.is_some_and(varies),
        // Nearly all registered variants are in this first part of the range.
        '\u{e0100}'..='\u{e011f}' => before.is_some_and(is_han),
        '\u{e0020}'..='\u{e007e}' if before == Some('🏴') => return flag(&text[at..]),
        _ => false,
    };
    match is_needed {
        true => c.len_utf8(),
        false => 0,
    }
}

/// Returns the length of the tags that change a black flag into the flag of a region. These are the
/// tags of the region's name, such as `gbeng`, and the closing tag.
fn flag(tags: &str) -> usize {
    /// Number of letters and digits in the name of a region (Unicode UTS 51).
    const REGION: std::ops::RangeInclusive<usize> = 3..=6;
    let is_part = |c: &char| matches!(c, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    let parts = tags.chars().take_while(is_part).count();
    let ends = tags.chars().nth(parts) == Some('\u{e007f}');
    match REGION.contains(&parts) && ends {
        true => (parts + 1) * '\u{e007f}'.len_utf8(),
        false => 0,
    }
}

/// Letters and signs of scripts in which joiners change the shape of a word.
fn joins(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{604}' | '\u{606}'..='\u{61b}' | '\u{61d}'..='\u{77f}'
        | '\u{7c0}'..='\u{7ff}' | '\u{840}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17ff}' | '\u{1810}'..='\u{18aa}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

/// Letters and signs of scripts that are written without spaces between words.
fn has_no_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}'
        | '\u{17b6}'..='\u{17ff}' | '\u{1980}'..='\u{19df}' | '\u{1a20}'..='\u{1aad}')
}

/// Symbols, many of which are emoji.
fn is_symbol(c: char) -> bool {
    matches!(c, '\u{2100}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Characters that a joiner may follow in an emoji.
fn may_be_joined(c: char) -> bool {
    is_symbol(c) || c == '\u{fe0f}'
}

/// Characters that are shown as text or as an emoji, depending on the variation selector after
/// them.
fn has_two_styles(c: char) -> bool {
    is_symbol(c) || matches!(c, '©' | '®' | '\u{203c}' | '\u{2049}')
}

/// Characters on the keys of a telephone.
fn is_key(c: char) -> bool {
    matches!(c, '0'..='9' | '#' | '*')
}

/// Characters of which a variation selector can choose a variant.
fn varies(c: char) -> bool {
    is_han(c)
        || matches!(c, '\u{1000}'..='\u{109f}' | '\u{a840}'..='\u{a87f}' | '\u{2200}'..='\u{22ff}' | '\u{3001}'..='\u{3002}')
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
