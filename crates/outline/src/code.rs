//! Outlines a source file by its definitions.
//!
//! Definitions are recognised by the beginnings of their lines, as in the line parsers of ctags,
//! and not with a grammar. The output of a tool is often only a part of a file, and may be in any
//! language. Grammars for all languages would be most of the binary (a grammar of tree-sitter is C
//! code of half a megabyte to a few megabytes), and an outline may miss a definition.

use std::io;
use std::sync::LazyLock;

use regex::bytes::Regex;
use spillgate_text::View;

use crate::parts::{SamplePlan, counted};
use crate::{EntryKind, OutlineEntry, located, note};

/// Maximum number of definitions that are kept. All definitions are counted.
const MOST: usize = 300;
/// Maximum number of bytes of a line that are examined.
const LONGEST: usize = 400;
/// Width of a tab in spaces.
const TAB: usize = 4;

/// A defining keyword after its modifiers, in Rust, Python, Go, JavaScript and TypeScript, Java,
/// Kotlin, Swift, C, C++, C#, Ruby, PHP, shell and SQL.
static KEYWORD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"^\s*(?:(?:pub(?:\([^)]*\))?|export|default|declare|public|private|protected|internal|"#,
        r#"fileprivate|static|async|abstract|final|sealed|partial|unsafe|const|extern(?: "C")?|inline|"#,
        r#"virtual|override|open|data|suspend|mutating|readonly|typedef|@\w+(?:\([^)]*\))?)\s+)*"#,
        r#"(?:fn|def|class|struct|enum|union|trait|interface|fun|function\*?|type|mod|module|namespace|"#,
        r#"protocol|extension|object|record|typealias|actor|macro_rules!)\s+[\w$"'\x80-\xff]"#,
        r#"|^\s*(?:unsafe\s+)?impl\b\s*[<\w\x80-\xff]|^func\s+[(\w\x80-\xff]|^\s+(?:\w+ )*func\s+\w"#,
        r#"|^\s*(?i:create\s+(?:or\s+replace\s+)?(?:temp\s+)?(?:table|view|function|procedure|index|trigger))\s"#,
    ))
});

/// A function assigned to a name: `const f = (x) => …`, `exports.f = function`.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^\s*(?:export\s+)?(?:(?:const|let|var)\s+[\w$]+|[\w$]+(?:\.[\w$]+)+)\s*(?::[^=]+)?=\s*",
        r"(?:async\s*)?(?:function\b|class\b|\([^)]*\)\s*(?::[^=]+)?=>|[\w$]+\s*=>)",
    ))
});

/// A name, its parameters and the opening brace of its body, which may be on the next line.
static METHOD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"^\s*(?:[\w:<>,.\[\]*&?@~]+[\s*&]+)*([\w:~$]+)\s*\(([^;={}]*)\)\s*",
        r"(?:(?:const|noexcept|override|final|async|throws\s+[\w., ]+|where\s[^{]*|:\s[^{]*|->\s*[^{]*)\s*)*(\{.*)?$",
    ))
});

fn pattern(source: &str) -> Regex {
    Regex::new(&format!("(?-u){source}")).expect("the patterns of this file are valid")
}

/// Words that may precede parentheses without defining anything.
const CONTROL: [&str; 27] = [
    "if",
    "for",
    "foreach",
    "while",
    "switch",
    "catch",
    "return",
    "else",
    "do",
    "try",
    "with",
    "synchronized",
    "using",
    "lock",
    "elif",
    "match",
    "fixed",
    "when",
    "unless",
    "until",
    "case",
    "new",
    "throw",
    "await",
    "func",
    "function",
    "defer",
];

/// Returns the definitions with their line numbers, nested by indentation.
pub(crate) fn outline(view: &View, plan: &SamplePlan) -> io::Result<Vec<OutlineEntry>> {
    let mut finder = Finder::default();
    plan.each_line(view.source(), |line, offset| {
        let line = &line[..line.len().min(LONGEST)];
        finder.line(line.trim_ascii_end(), offset);
    })?;
    let mut lines = Vec::new();
    let found = finder.found;
    if finder.count > found.len() as u64 {
        let (count, text) = (plan.in_all(finder.count), plan.scaled(finder.count));
        lines.push(OutlineEntry {
            kind: EntryKind::Definitions(count),
            ..note(counted(&text, "definition"))
        });
    }
    let mut around: Vec<usize> = Vec::new();
    for definition in found {
        while around
            .last()
            .is_some_and(|&width| width >= definition.indent)
        {
            around.pop();
        }
        let depth = around.len();
        around.push(definition.indent);
        lines.push(located(
            view,
            definition.offset,
            (depth, depth),
            definition.text,
        )?);
    }
    Ok(lines)
}

#[derive(Debug)]
struct Definition {
    offset: u64,
    indent: usize,
    text: String,
}

#[derive(Debug, Default)]
struct Finder {
    found: Vec<Definition>,
    count: u64,
    /// The text that ends the open comment or long string.
    until: Option<&'static [u8]>,
    /// A function whose brace may be on the next line.
    pending: Option<Definition>,
}

impl Finder {
    fn line(&mut self, line: &[u8], offset: u64) {
        let text = line.trim_ascii_start();
        let pending = self.pending.take();
        if text == b"{"
            && let Some(definition) = pending
        {
            self.take(definition);
        }
        if let Some(end) = self.until {
            if memchr::memmem::find(text, end).is_some() {
                self.until = None;
            }
            return;
        }
        let definition = || Definition {
            offset,
            indent: width(&line[..line.len() - text.len()]),
            text: signature(text),
        };
        if KEYWORD.is_match(line) || ASSIGNED.is_match(line) {
            self.take(definition());
        } else if let Some(braced) = method(line) {
            match braced {
                true => self.take(definition()),
                false => self.pending = Some(definition()),
            }
        }
        self.until = opened(text);
    }

    fn take(&mut self, definition: Definition) {
        self.count += 1;
        if self.found.len() < MOST {
            self.found.push(definition);
        }
    }
}

/// Returns whether the line of a function definition contains the opening brace of the body; `None`
/// if the line does not define a function.
fn method(line: &[u8]) -> Option<bool> {
    // Most lines have no parenthesis, and the pattern is slow.
    memchr::memchr(b'(', line)?;
    let found = METHOD.captures(line)?;
    let name = found.get(1)?.as_bytes();
    let parameters = found.get(2)?.as_bytes();
    let first = line
        .trim_ascii_start()
        .split(|byte| !byte.is_ascii_alphabetic());
    let first = first.into_iter().next().unwrap_or_default();
    let is_control = |word: &[u8]| CONTROL.iter().any(|known| known.as_bytes() == word);
    let is_call = memchr::memmem::find(parameters, b"function").is_some()
        || memchr::memchr2(b'"', b'\'', parameters).is_some();
    if is_control(name) || is_control(first) || is_call {
        return None;
    }
    let braced = found.get(3).is_some();
    // Without a brace, a call looks the same, but a definition has a type before its name.
    (braced || found.get(1)?.start() > 0 && !line.starts_with(b" ") && !line.starts_with(b"\t"))
        .then_some(braced)
}

/// Returns the text that ends the comment or the long string that a line opens.
fn opened(text: &[u8]) -> Option<&'static [u8]> {
    let count = |mark: &[u8]| memchr::memmem::find_iter(text, mark).count();
    if text.starts_with(b"/*") && count(b"*/") == 0 {
        return Some(b"*/");
    }
    [&b"\"\"\""[..], b"'''"]
        .into_iter()
        .find(|mark| count(mark) == 1)
        .map(|mark| {
            if mark == b"'''" {
                &b"'''"[..]
            } else {
                b"\"\"\""
            }
        })
}

fn width(blanks: &[u8]) -> usize {
    let widths = blanks.iter().map(|&b| if b == b'\t' { TAB } else { 1 });
    widths.sum()
}

/// Returns the line of a definition without the mark that begins the body.
fn signature(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end().trim_end_matches(['{', ':']).trim_end();
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{texts, view_of};

    fn found(text: &str) -> String {
        let view = view_of(text);
        let plan = SamplePlan::spread(view.source(), 0).unwrap();
        texts(&outline(&view, &plan).unwrap())
    }

    /// Checks that exactly the lines that begin with `+` are recognised as definitions.
    fn check(language: &str, marked: &str) {
        let plain: Vec<&str> = marked.lines().map(|line| &line[1..]).collect();
        let want = (1..)
            .zip(marked.lines())
            .filter(|(_, line)| line.starts_with('+'));
        let want: Vec<u64> = want.map(|(number, _)| number).collect();
        let numbers = found(&plain.join("\n"))
            .lines()
            .map(|line| line.trim().split(':').next().unwrap().parse().unwrap())
            .collect::<Vec<u64>>();
        assert_eq!(numbers, want, "{language}");
    }

    #[test]
    fn languages() {
        check(
            "Rust",
            "+pub(crate) fn f<T>(x: T) -> u8 {\n     let y = g(x);\n }\n+impl<T> A for B<T> {\n+    const fn m(&self) {}\n+pub enum E {\n+macro_rules! m {\n     if a(b) {\n     type_of(x)\n /* struct of\n enum x */\n+mod tests {",
        );
        check(
            "Python",
            "+class A(B):\n     \"\"\"class of things\n     def of it\n     \"\"\"\n+    async def m(self, x=1):\n         if f(x):\n             return g(x)\n+def f():",
        );
        check(
            "JavaScript",
            "+export default class A extends B {\n+  constructor(a) {\n+  async m(a, b) {\n     if (a) {\n     for (const x of y) {\n     foo(function() {\n     describe('x', () => {\n+export const f = async (a) => {\n+const g = x => x;\n+exports.h = function (a) {\n+function* gen() {\n   const x = f(1);",
        );
        check(
            "TypeScript",
            "+interface A {\n+type B = string;\n+declare module \"x\" {",
        );
        check(
            "Go",
            "+func main() {\n+func (r *T) Name(a int) error {\n+type T struct {\n \tif err := f(x); err != nil {\n \tgo func() {",
        );
        check(
            "Java",
            "+public final class A<T> extends B {\n+    @Override public void m(int a) throws X, Y {\n+    private static Map<String, List<T>> get(T t) {\n         while (x) {\n         call(a);\n         return new A(b) {\n+    A(int a) {",
        );
        check(
            "C",
            "+static int f(struct a *b, int c)\n {\n \tif (x) {\n \tcall(x);\n }\n+struct a {\n+int main(int argc, char **argv) {\n int declared(int a);\n #define X(a) b",
        );
        check(
            "C++",
            "+namespace a::b {\n+template_t<int> A::f(const B &b) const {\n+A::~A() {\n+class X : public Y {\n     x = f(y);\n     switch (x) {",
        );
        check("C#", "+public sealed class A : IB {\n+    public async Task<int> M(int a)\n     {\n         using (var x = f()) {\n+    internal record R(int a);".replace("+    public async Task<int> M(int a)\n     {", "+    public async Task<int> M(int a) {").as_str());
        check(
            "Ruby",
            "+module A\n+  class B < C\n+    def self.m(x)\n       puts x",
        );
        check(
            "PHP",
            "+abstract class A {\n+    public static function m($a) {\n         foreach ($a as $b) {",
        );
        check(
            "Kotlin",
            "+data class A(val b: Int)\n+    suspend fun m(x: Int): Int {\n+object X {",
        );
        check(
            "Swift",
            "+extension A: B {\n+    mutating func m(_ x: Int) -> Int {\n+    init(x: Int) {\n+protocol P {",
        );
        check("shell", "+f() {\n   local x=$(g y)\n }\n+function g {");
        check("SQL", "+CREATE TABLE a (\n+create or replace view v as");
    }

    #[test]
    fn nesting_follows_indentation() {
        insta::assert_snapshot!(found("class A:\n    def m(self):\n        def inner():\n    def n(self):\ndef f():\n"), @"
        1: class A
          2: def m(self)
            3: def inner()
          4: def n(self)
        5: def f()
        ");
    }
}
