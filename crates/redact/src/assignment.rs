//! Finds the values of passwords, tokens and keys that are assigned to a name: in JSON, YAML,
//! `.env` files, code, headers, command lines, XML and connection strings.

use std::ops::Range;

use crate::name::{Class, class_of};
use crate::value::{
    Shape, entropy, is_identifier, is_placeholder, is_random, is_uuid, is_version, is_wordy,
};
use crate::view::View;

/// The longest name, in bytes on each side of the literal.
const MOST_NAME: usize = 48;
/// The longest value.
const MOST_VALUE: usize = 2048;
/// The most bytes of a value without quotes by which it is judged.
const MOST_BARE: usize = 512;
/// The most bytes that are hidden of a longer value.
const MOST_LONG: usize = 16 << 10;
/// The most bytes between a name and its value.
const MOST_GAP: usize = 48;

/// Returns the value that is assigned to the name around `at`, if it is a secret.
pub(crate) fn find(view: &View<'_>, at: usize) -> Option<Range<usize>> {
    let text = &*view.bytes;
    let name = name_around(text, at)?;
    if !may_link(text, &name) {
        return None;
    }
    let class = class_of(&text[name.clone()])?;
    let value = value_after(view, &name, class)?;
    if !is_secret(text, class, &value) {
        return None;
    }
    let mut range = value.range;
    if range.len() == MOST_BARE && !value.quoted {
        // It was judged by its beginning.
        let rest = text[range.end..].iter().take(MOST_LONG);
        let rest = rest.take_while(|it| !is_space(**it) && !is_quote(**it));
        range.end += rest.count();
    }
    Some(range)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn name_around(text: &[u8], at: usize) -> Option<Range<usize>> {
    let before = text[..at].iter().rev().take(MOST_NAME + 1);
    let before = before.take_while(|byte| is_name(**byte)).count();
    let after = text[at..].iter().take(MOST_NAME + 1);
    let after = after
        .take_while(|byte| is_name(**byte) && **byte != b'.')
        .count();
    (before <= MOST_NAME && after <= MOST_NAME && after > 0).then(|| at - before..at + after)
}

/// Returns whether what follows a name can link it to a value. Most words of a text are no names,
/// and this sets them apart fast.
fn may_link(text: &[u8], name: &Range<usize>) -> bool {
    let rest = &text[name.end..text.len().min(name.end + MOST_GAP)];
    let spaces = rest
        .iter()
        .take_while(|it| matches!(it, b' ' | b'\t'))
        .count();
    let after = rest.get(spaces + 1).copied();
    match rest.get(spaces) {
        None => false,
        // A comparison, except with a string.
        Some(b'=') if after == Some(b'=') => {
            let value = rest[spaces..].iter().find(|it| !matches!(it, b'=' | b' '));
            value.is_some_and(|it| is_quote(*it))
        }
        Some(b'=' | b':' | b'>' | b'|' | b'<' | b'`' | b'"' | b'\'') => true,
        Some(b'?' | b'+') => matches!(after, Some(b'=' | b':')),
        Some(b']' | b')' | b'}') => spaces == 0,
        // A row of a table begins with the name.
        Some(b',') => spaces == 0 && begins_line(text, name.start),
        Some(b'v' | b'V') if spaces > 0 => true,
        Some(b'\n' | b'\r') => memchr::memmem::find(rest, b"alue").is_some(),
        Some(_) => {
            spaces > 1
                || rest[0] == b'\t'
                || (spaces == 1 && (text[name.start] == b'-' || is_login(text, name)))
        }
    }
}

/// A value and where it stands.
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent properties of a place in a text"
)]
struct Value {
    range: Range<usize>,
    quoted: bool,
    /// `NAME=value` without spaces, as in an environment.
    tight: bool,
    /// The name is a key of JSON.
    keyed: bool,
    /// The name is written in capitals.
    capitals: bool,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// A cursor over the bytes between a name and its value.
struct Gap<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
}

impl Gap<'_> {
    fn peek(&self) -> Option<u8> {
        self.text
            .get(self.at)
            .copied()
            .filter(|_| self.at < self.end)
    }

    fn skip(&mut self, which: impl Fn(u8) -> bool) -> usize {
        let start = self.at;
        while self.peek().is_some_and(&which) {
            self.at += 1;
        }
        self.at - start
    }

    fn take(&mut self, literal: &[u8]) -> bool {
        let taken = self.text[self.at..].starts_with(literal);
        if taken {
            self.at += literal.len();
        }
        taken
    }
}

/// Finds the value behind a name: `name = "value"`, `"name": "value"`, `--name value`,
/// `<name>value</name>`, `name: String = "value"`, `{"name": "NAME", "value": "value"}`.
fn value_after(view: &View<'_>, name: &Range<usize>, class: Class) -> Option<Value> {
    let text = &*view.bytes;
    let end = text.len().min(name.end + MOST_GAP);
    let mut gap = Gap {
        text,
        at: name.end,
        end,
    };
    let keyed = gap.peek().is_some_and(is_quote) && gap.skip(is_quote) > 0;
    gap.skip(|it| matches!(it, b']' | b')' | b'}'));
    let spaces = gap.skip(|it| matches!(it, b' ' | b'\t'));
    let separator = gap.at;
    let link = link(&mut gap, name, class, keyed, spaces)?;
    if link == Link::Element {
        return Some(Value {
            range: element(text, gap.at)?,
            quoted: true,
            tight: true,
            keyed: false,
            capitals: false,
        });
    }
    let table = link == Link::Table;
    let tight = link == Link::Sign && spaces == 0 && !gap.peek().is_some_and(is_space);
    gap.skip(|it| matches!(it, b' ' | b'\t'));
    if class != Class::Password {
        let start = gap.at;
        gap.skip(is_quote);
        let schemes = [
            "Bearer ", "bearer ", "Basic ", "basic ", "Token ", "token ", "ApiKey ", "Bot ",
        ];
        if !schemes.iter().any(|it| gap.take(it.as_bytes())) {
            gap.at = start;
        }
    }
    if matches!(gap.peek(), Some(b'b' | b'r' | b'f' | b'u' | b'@'))
        && text.get(gap.at + 1).is_some_and(|it| is_quote(*it))
    {
        gap.at += 1;
    }
    let percent = view.is_percent(separator);
    let value = value_at(view, gap.at, tight, percent)?;
    let capitals = !text[name.clone()].iter().any(u8::is_ascii_lowercase);
    let (range, quoted) = match declared(text, &value) {
        Some(at) => value_at(view, at, tight, percent)?,
        None => value,
    };
    // A line of YAML or of an INI file.
    let ends = text
        .get(range.end)
        .is_none_or(|it| matches!(it, b'\n' | b'\r'));
    let quoted = quoted || range.clone().any(|at| view.is_percent(at));
    if table && !is_random_cell(&text[range.clone()], class) {
        return None;
    }
    let line = ends && begins_line(text, name.start) && text[separator] != b'=';
    Some(Value {
        quoted,
        tight: tight || line,
        keyed,
        capitals: capitals || line,
        range,
    })
}

/// What stands between a name and its value.
#[derive(PartialEq, Eq)]
enum Link {
    /// A sign such as `=` or `:`, possibly with `value` behind it.
    Sign,
    /// The end of an XML tag.
    Element,
    /// The border between two cells of a table.
    Table,
    /// A space.
    Space,
}

/// Skips what stands between a name and its value, after `spaces` spaces.
fn link(
    gap: &mut Gap<'_>,
    name: &Range<usize>,
    class: Class,
    keyed: bool,
    spaces: usize,
) -> Option<Link> {
    let text = gap.text;
    let before = name.start.checked_sub(1).map(|at| text[at]);
    let flag = text[name.clone()].starts_with(b"-");
    let value = |gap: &Gap<'_>| {
        let rest = &text[gap.at..];
        rest.starts_with(b"value") || rest.starts_with(b"Value")
    };
    match gap.peek()? {
        // A part of a longer name: `arn:aws:secretsmanager:eu-west-1:1:secret:name`.
        b':' if before == Some(b':') && text.get(gap.at + 1) != Some(&b' ') => return None,
        // A path of Rust or C++.
        b':' if text.get(gap.at + 1) == Some(&b':') && text.get(gap.at + 2) != Some(&b'=') => {
            return None;
        }
        // The result of a test: `PASS: name`.
        b':' if !keyed && text[name.clone()].eq_ignore_ascii_case(b"pass") => return None,
        b'=' | b':' | b'?' | b'+' => {
            // Comparisons (`==`) count as well: the code that compares contains the secret.
            gap.skip(|it| matches!(it, b'=' | b':' | b'?' | b'+' | b'>'));
        }
        b'>' if before == Some(b'<') || before == Some(b':') => {
            gap.at += 1;
            return Some(Link::Element);
        }
        b',' if keyed => {
            gap.at += 1;
            gap.skip(is_space);
            if named_value(gap)? == Named::No {
                return Some(Link::Table);
            }
        }
        b'\n' | b'\r' => {
            gap.skip(is_space);
            named_value(gap)?;
        }
        _ if (keyed || spaces > 0) && value(gap) => {
            named_value(gap)?;
        }
        b'|' | b'<' | b'`' => {
            gap.end = text.len().min(name.end + 2 * MOST_GAP);
            cell(gap)?;
            return Some(Link::Table);
        }
        b',' if spaces == 0 && !text.get(gap.at + 1).is_none_or(|it| is_space(*it)) => {
            gap.at += 1;
            return Some(Link::Table);
        }
        _ if flag && spaces > 0 => return Some(Link::Space),
        _ if spaces > 1 || text[name.end..gap.at].contains(&b'\t') => return Some(Link::Table),
        _ if spaces == 1 && class == Class::Password && is_login(text, name) => {
            return Some(Link::Space);
        }
        b'"' | b'\'' if spaces == 1 && text[name.clone()].eq_ignore_ascii_case(b"password") => {
            return Some(Link::Space);
        }
        _ => return None,
    }
    Some(Link::Sign)
}

/// Returns whether there are only spaces and hyphens before `at` in its line, or the key `name:`.
fn begins_line(text: &[u8], at: usize) -> bool {
    let before = text[..at].iter().rev().take(MOST_NAME);
    let gap = before.take_while(|it| matches!(it, b' ' | b'\t' | b'-' | b'"' | b'\''));
    let start = at - gap.count();
    let before = &text[..start];
    before.is_empty() || before.ends_with(b"\n") || before.ends_with(b"name:")
}

/// Skips what stands between two cells of a table of Markdown or HTML.
fn cell(gap: &mut Gap<'_>) -> Option<()> {
    gap.skip(|it| it == b'`' || it == b' ');
    if gap.peek()? == b'|' {
        gap.at += 1;
        gap.skip(|it| it == b' ' || it == b'`');
        return Some(());
    }
    let mut cells = 0;
    while gap.peek()? == b'<' {
        let length = gap.text[gap.at..gap.end]
            .iter()
            .position(|it| *it == b'>')?;
        let tag = &gap.text[gap.at..gap.at + length];
        cells += usize::from(tag.starts_with(b"<td"));
        gap.at += length + 1;
        gap.skip(is_space);
    }
    (cells == 1).then_some(())
}

/// Returns whether a value of a table is random: nothing else tells it from other values.
fn is_random_cell(value: &[u8], class: Class) -> bool {
    match class {
        _ if is_identifier(value) || is_version(value) => false,
        Class::Password => {
            let shape = Shape::of(value);
            value.len() >= 8 && shape.digits > 0 && shape.letters() > 0 && !is_wordy(value)
        }
        _ => value.len() >= 16 && is_random(value, 3.0),
    }
}

/// Returns whether the word `password` belongs to a file with logins, such as `.netrc`: words with
/// a value behind each.
fn is_login(text: &[u8], name: &Range<usize>) -> bool {
    /// How far the words before are.
    const NEAR: usize = 160;
    let before = &text[name.start.saturating_sub(NEAR)..name.start];
    let has = |word: &[u8]| memchr::memmem::find(before, word).is_some();
    match &text[name.clone()] {
        b"password" => has(b"login ") || has(b"machine "),
        b"bindpw" | b"rootpw" => true,
        _ => false,
    }
}

/// Returns the text of an XML element, without spaces around it.
fn element(text: &[u8], start: usize) -> Option<Range<usize>> {
    let body = &text[start..text.len().min(start + MOST_VALUE)];
    let end = body.iter().position(|it| *it == b'<' || *it == b'\n')?;
    if body.get(end + 1) != Some(&b'/') {
        return None;
    }
    let body = &body[..end];
    let before = body.iter().take_while(|it| is_space(**it)).count();
    let after = body.iter().rev().take_while(|it| is_space(**it)).count();
    (before + after < body.len()).then(|| start + before..start + body.len() - after)
}

/// Whether a value has the name `value`.
#[derive(PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

/// Skips `"value":` or `value=` after a name that is a value itself.
fn named_value(gap: &mut Gap<'_>) -> Option<Named> {
    gap.skip(is_quote);
    if !gap.take(b"value") && !gap.take(b"Value") {
        // A call: `set("password", "value")`.
        let quoted = gap.at > 0 && is_quote(gap.text[gap.at - 1]);
        gap.at -= usize::from(quoted);
        return quoted.then_some(Named::No);
    }
    gap.skip(is_quote);
    gap.skip(is_space);
    (gap.skip(|it| it == b':' || it == b'=') > 0).then_some(Named::Yes)
}

/// Returns where the value begins if what was taken for it is a type: `password: String = "x"`.
fn declared(text: &[u8], value: &(Range<usize>, bool)) -> Option<usize> {
    let (range, quoted) = value;
    if *quoted || !text[range.clone()].iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let rest = &text[range.end..text.len().min(range.end + 8)];
    let gap = rest.iter().take_while(|it| **it == b' ').count();
    let rest = rest[gap..].strip_prefix(b"=")?;
    let after = rest.iter().take_while(|it| **it == b' ').count();
    rest.get(after).filter(|it| is_quote(**it))?;
    Some(range.end + gap + 1 + after)
}

/// Returns the range of the value that begins at `at`, without quotes, and whether it is quoted.
fn value_at(
    view: &View<'_>,
    at: usize,
    tight: bool,
    percent: bool,
) -> Option<(Range<usize>, bool)> {
    let text = &*view.bytes;
    let first = *text.get(at)?;
    let limit = text.len().min(at + MOST_VALUE);
    if is_quote(first) {
        let depth = view.raw_len(at);
        let start = at + 1;
        let closes = |at: &usize| {
            text[*at] == b'\n' && view.raw_len(*at) == 1
                || text[*at] == first && view.raw_len(*at) <= depth
        };
        let end = (start..limit).find(closes)?;
        return (text[end] == first && end > start).then_some((start..end, true));
    }
    let ends = |at: &usize| {
        let byte = text[*at];
        let ends = match byte {
            b',' | b')' | b'|' => !tight,
            b';' | b'&' | b'<' | b'>' | b'"' | b'\'' | b'`' | b'\\' | b']' | b'}' => true,
            _ => is_space(byte) || byte.is_ascii_control(),
        };
        ends && (percent || !view.is_percent(*at))
    };
    let limit = limit.min(at + MOST_BARE);
    let end = (at..limit).find(ends).unwrap_or(limit);
    (end > at).then_some((at..end, false))
}

fn is_secret(text: &[u8], class: Class, value: &Value) -> bool {
    let bytes = &text[value.range.clone()];
    if bytes.len() < 4 {
        return false;
    }
    let is_call = |it: &u8| matches!(it, b'(' | b'[');
    let environment = value.tight && value.capitals;
    let called = || text.get(value.range.end).is_some_and(is_call) || bytes.iter().any(is_call);
    if !value.quoted && !environment && (called() || is_code(text, &value.range)) {
        return false;
    }
    let shape = Shape::of(bytes);
    // In JSON, a number in place of a string would make the text invalid.
    if !value.quoted && value.keyed && shape.letters() == 0 {
        return false;
    }
    let likely = match class {
        Class::Password => is_password(bytes, shape, value),
        Class::Token => is_token(bytes, shape, value),
        Class::Header => bytes.len() >= 12 && shape.spaces == 0 && is_random(bytes, 2.8),
    };
    likely && !is_reference(bytes) && !is_placeholder(bytes)
}

/// Returns whether a value without quotes is a type or a name of code: `*const u8`, `core::PCWSTR`,
/// `X509Flags = 4`, `x25519_private_key`.
fn is_code(text: &[u8], range: &Range<usize>) -> bool {
    let value = &text[range.clone()];
    let rest = &text[range.end..text.len().min(range.end + 4)];
    let typed = rest.starts_with(b" = ") || rest.starts_with(b"<'");
    typed
        || matches!(value[0], b'*' | b'&' | b'{')
        || begins_with_word(value)
        || memchr::memmem::find(value, b"::").is_some()
        || is_identifier(value)
}

/// Returns whether what stands before the first comma or bracket of a value is a word: `None):`.
fn begins_with_word(value: &[u8]) -> bool {
    let end = value.iter().position(|it| matches!(it, b',' | b')' | b'|'));
    end.is_some_and(|end| is_placeholder(&value[..end]) || is_wordy(&value[..end]))
}

/// Returns whether a value says where the secret is: a path, an address, a digest.
fn is_reference(value: &[u8]) -> bool {
    let begins = |start: &&str| value.starts_with(start.as_bytes());
    let starts = [
        "/",
        "./",
        "../",
        "~/",
        "http://",
        "https://",
        "arn:",
        "file:",
        "vault:",
        "secret:",
        "env:",
        "sha256:",
        "sha512-",
        "sha256-",
        "sha1-",
        "sha1:",
        "md5:",
        "op://",
        "ssm:",
        "data:",
        "data.",
        "process.",
        "os.",
        "self.",
        "this.",
        "config.",
        "settings.",
        "secrets.",
        "var.",
        "local.",
        "module.",
        "ref:",
        "ref+",
        "kms:",
        "0x0000",
        "--",
        "&",
        "=",
        "!",
    ];
    let path = starts.iter().any(begins);
    let drive = matches!(value, [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic());
    // A password may begin with a sign that a reference also begins with.
    drive
        || path
            && !matches!(value, [b'/' | b'&' | b'=' | b'!', rest @ ..] if !is_wordy(rest) && rest.len() < 24)
}

fn is_password(bytes: &[u8], shape: Shape, value: &Value) -> bool {
    let len = bytes.len();
    if len > 256 || shape.spaces > 6 {
        return false;
    }
    if shape.spaces > 0 {
        // A sentence is no password; a passphrase with digits or symbols may be.
        return value.quoted
            && shape.digits + shape.symbols > 0
            && shape.spaces <= 4
            && !is_wordy(bytes)
            && shape.digits > 0;
    }
    let structured = value.quoted || (value.tight && value.capitals);
    if shape.letters() == 0 {
        return len >= 6 && structured && shape.digits > 0;
    }
    let mixed = shape.digits > 0 || shape.symbols > 0;
    if mixed && len >= 6 {
        if is_wordy(bytes) {
            // `hunter2` in an environment is a password, `password2` in code is a name.
            return structured
                && shape.digits > 0
                && !bytes.contains(&b'_')
                && !bytes.contains(&b'.')
                && !bytes.contains(&b'/')
                && !bytes.contains(&b':');
        }
        let identifier = !value.quoted && !value.tight && shape.symbols == 0 && len < 12;
        return !identifier && entropy(bytes) >= 2.0;
    }
    len >= 8 && structured && !is_wordy(bytes) && entropy(bytes) >= 2.8
}

fn is_token(bytes: &[u8], shape: Shape, value: &Value) -> bool {
    if shape.spaces > 0 || bytes.len() < 8 {
        return false;
    }
    if is_uuid(bytes) {
        return true;
    }
    let short = bytes.len() < 16;
    let structured = value.quoted || value.tight;
    if short {
        return structured
            && shape.digits > 0
            && shape.letters() > 0
            && entropy(bytes) >= 2.8
            && !is_wordy(bytes);
    }
    let plain = !value.quoted && !value.tight && shape.digits < 2;
    !plain && is_random(bytes, 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        let view = View::new(text.as_bytes());
        let bytes = &*view.bytes;
        let names = [
            "pass", "PASS", "Pass", "token", "TOKEN", "secret", "SECRET", "Key", "_key", "KEY",
            "auth", "uthor",
        ];
        let mut found = None;
        for name in names {
            for at in memchr::memmem::find_iter(bytes, name) {
                found = found.or_else(|| find(&view, at));
            }
        }
        found.map(|it| String::from_utf8_lossy(&bytes[it]).into_owned())
    }

    #[test]
    fn values_of_secrets() {
        let cases: [(&str, &str); 30] = [
            (r#"{"password":"hunter2x!"}"#, "hunter2x!"),
            (r#"{"password":"ab\"cd12"}"#, "ab\"cd12"),
            (r#"{\"password\":\"hunter2x!\"}"#, "hunter2x!"),
            ("password: hunter2!x", "hunter2!x"),
            ("DB_PASSWORD=hunter2", "hunter2"),
            ("export PGPASSWORD=abc,d(9", "abc,d(9"),
            ("const password: string = 'Tr0ub4dor'", "Tr0ub4dor"),
            ("config['password'] = 'Tr0ub4dor&3'", "Tr0ub4dor&3"),
            ("<password>Tr0ub4dor&3</password>", "Tr0ub4dor&3"),
            ("--password Tr0ub4dor$3 --x", "Tr0ub4dor$3"),
            ("--token=kJ8sWq2LpZ0aYxVb", "kJ8sWq2LpZ0aYxVb"),
            ("Server=x;User=y;Password=Tr0ub4dor;Port=1", "Tr0ub4dor"),
            (r#"{"name":"DB_PASSWORD","value":"Tr0ub4dor"}"#, "Tr0ub4dor"),
            ("- name: DB_PASSWORD\n  value: Tr0ub4dor", "Tr0ub4dor"),
            (r#"<add key="Password" value="Tr0ub4dor" />"#, "Tr0ub4dor"),
            ("?access_token=kJ8sWq2LpZ0aYxVb&x=1", "kJ8sWq2LpZ0aYxVb"),
            (
                "%3Faccess_token%3DkJ8sWq2LpZ0aYxVb%26x%3D1",
                "kJ8sWq2LpZ0aYxVb",
            ),
            ("?password=ab%20cd9x!&x=1", "ab cd9x!"),
            (
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzKEY1",
                "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzKEY1",
            ),
            ("AccountKey=kJ8sWq2LpZ0aYxVb==;", "kJ8sWq2LpZ0aYxVb=="),
            (
                "client_secret: '550e8400-e29b-41d4-a716-446655440000'",
                "550e8400-e29b-41d4-a716-446655440000",
            ),
            ("X-Api-Key: kJ8sWq2LpZ0aYxVb", "kJ8sWq2LpZ0aYxVb"),
            ("OPENAI_API_KEY='kJ8sWq2LpZ0aYxVb'", "kJ8sWq2LpZ0aYxVb"),
            ("_authToken=kJ8sWq2LpZ0aYxVb", "kJ8sWq2LpZ0aYxVb"),
            ("Authorization: Token kJ8sWq2LpZ0aYxVb", "kJ8sWq2LpZ0aYxVb"),
            ("ALTER USER x PASSWORD 'Tr0ub4dor'", "Tr0ub4dor"),
            ("password\x1b[0m=\x1b[32mhunter2x!\x1b[0m", "hunter2x!"),
            ("setProperty(\"password\", \"Tr0ub4dor\")", "Tr0ub4dor"),
            ("JWT_SECRET=4f9e1c7a2b8d", "4f9e1c7a2b8d"),
            (
                "STRIPE_WEBHOOK_SECRET_PROD=kJ8sWq2LpZ0aYxVb",
                "kJ8sWq2LpZ0aYxVb",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(found(text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn a_long_value_is_found_whole() {
        let value = "kJ8sWq2LpZ0aYxVb".repeat(100);
        assert_eq!(found(&format!("token={value} x")), Some(value));
    }

    #[test]
    fn values_that_are_no_secrets() {
        for text in [
            "password = getPassword()",
            "password: user.password,",
            "token = tokens[0]",
            "PASSWORD=${DB_PASSWORD}",
            r#""password": "string""#,
            r#""password": null"#,
            r#""password": 12345678"#,
            "next_page_token: kJ8sWq2LpZ0aYxVb",
            "monkey = kJ8sWq2LpZ0aYxVb",
            "primary_key: kJ8sWq2LpZ0aYxVb",
            "public_key = 'kJ8sWq2LpZ0aYxVb'",
            "secretName: db-secret-v2",
            "token_count: 12345678901234567890",
            "password_file=/run/secrets/db",
            "PASSWORD_FILE=/run/x1",
            "tokenizer = 'gpt2-medium-345M'",
            "if (password == null)",
            "type Token = string",
            "the password is wrong: please try again",
            "token: Token,",
            "api_key: str = None",
            "key: 9f86d081884c7d659a2feaa0c55ad015",
            "PublicKeyToken=b77a5c561934e089",
            "secret: projects/x/secrets/y",
            "sort_key=2024-01-01T00:00:00Z",
            "<password></password>",
            "password: Enter your password 2 times",
            "access_token: access_token_secret",
            "Token::kJ8sWq2LpZ0aYxVb",
            "password: windows_sys::core::PCWSTR, x",
            "passwd: *const c_void9,",
            "const ENCRYPTION_KEY: X509HardwareKeyUsageFlags = 2i32;",
            "private_key: x25519_generate_private_key,",
            "def load(self, password=None):",
            "pass_=proxy_pass)",
            "password={self.password1}",
            "$ENV{PWD} = $ENV{PWD9x};",
            "x(\"user_secret\", \"client_x509_cert_url\")",
            "<user>:<password>@host1-2x",
            "Please pass 'fsck.mode=force1'",
            "PASS: test-argv0-x9",
            "private_key: ed25519.Ed25519PrivateKey,",
            "bypass=abc123def",
            "passing=12 tests1",
            "compass: 12north3",
            "ii  passwd         1:4.13+dfsg1-1+deb12u1   amd64        change passwords",
            "ii  passwd  1:4.17.4-2  amd64",
            "passwd   0.80-14.fc39   @anaconda",
            "| passwd | v1.2.3-alpine | 12 MB |",
            "tokenizers-token\t0.15.2.dev20231211+cu118\tpypi",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
