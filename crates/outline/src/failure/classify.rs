//! Classifies lines by what they report about a failure.

use std::borrow::Cow;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{LazyLock, OnceLock};

use regex::bytes::Regex;
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::pool::Pool;
use regex_automata::util::syntax;
use spillgate_text::Literals;

/// Matches the prefix that a CI system adds to each log line. GitHub Actions and Jenkins add a time
/// stamp; logs downloaded from GitHub Actions also have the names of the job and the step.
const PREFIX: &str = concat!(
    r"^(?:\xEF\xBB\xBF)?(?:[^\t\n]+\t[^\t\n]+\t)?",
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?) ?",
);

/// Maximum number of bytes of a line that are examined. The words that report a failure are at the
/// beginning of a line.
const LOOKED_AT: usize = 1000;

/// Every line that reports a failure contains one of these texts. They have at least three bytes, so
/// that few lines are examined.
const LITERALS: [&str; 60] = [
    "rror",
    "RROR",
    "ail",
    "FAIL",
    "xcept",
    "atal",
    "FATAL",
    "anic",
    "annot",
    "an't",
    "o such",
    "ot found",
    "enied",
    "ENIED",
    "exit",
    "Exit",
    "raceback",
    "egmentation",
    "illed",
    "imed out",
    "imeout",
    "ndefined",
    "ould not",
    "nable to",
    "efused",
    "ssert",
    "ot ok",
    "<<<",
    "core dumped",
    "nvalid",
    "xpected",
    "issing",
    "bort",
    "✕",
    "✖",
    "✗",
    "✘",
    "●",
    "× ",
    "\nE  ",
    "\ne: ",
    "\n! ",
    "rong",
    "nknown",
    "o space",
    "violat",
    "##[group]",
    "SEVERE",
    "ERR!",
    ": E",
    ": F",
    "_test.go:",
    "emerg",
    "CONFLICT",
    "ejected",
    "would reformat",
    "Diff in ",
    "ttempt to",
    "(HTTP",
    "BAD ",
];

static ANY: LazyLock<Literals> =
    LazyLock::new(|| Literals::new(LITERALS.iter().map(|literal| literal.as_bytes())));

/// What a line reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A step of a CI run begins.
    Step,
    /// The CI runner reports that a step ended with a failure.
    StepEnd,
    /// A command or a build ended with a failure.
    End,
    /// A count of failures that is not zero.
    Count,
    /// An error, an exception or a failed assertion: the line says why the run failed.
    Error,
    /// The name of a test or a step that failed.
    Status,
    /// A word such as `failed` that may not mean a failure.
    Word,
}

/// A line that reports a failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Report {
    pub(super) class: Class,
    /// How certain the failure is and how much the line says about it.
    pub(super) weight: f64,
    /// Whether such a line occurs only in the output of programs and not in code.
    pub(super) is_output: bool,
}

/// The index in [`RULES`] of the rule for counts.
const COUNTS: usize = 3;
/// The index in [`RULES`] of the rule for lines that name the place of an error.
const PLACED: usize = 4;

/// The class and the weight of a line that matches a pattern. The first pattern that matches
/// decides.
const RULES: [(Class, f64, &str); 13] = [
    (Class::Step, 0.0, r"^##\[group\]Run "),
    (
        Class::StepEnd,
        2.5,
        r"^##\[error\].*(?:exit code [1-9]|failed with)|^ERROR: Job failed",
    ),
    (
        Class::End,
        2.5,
        concat!(
            r"\b(?i:exit(?:ed|s|ing)?(?: with)?(?: (?:code|status|value))[:=]? ?[1-9]\d*\b|exited with [1-9]\d*\b|returned (?:exit )?(?:code|status) [1-9])",
            r"|^make(?:\[\d+\])?: \*\*\*|\bnot remade because of errors|^ninja: build stopped|^FAILED: |\bBUILD FAIL(?:URE|ED)\b",
            r"|^Finished: (?:FAILURE|ABORTED|UNSTABLE)|ELIFECYCLE|Command failed with",
            r"|marked build as failure|^error: (?:could not compile|aborting due|test failed|test run failed|build failed)",
            r"|^(?:Build|Tests?|Lint|Check) failed\b|^FAIL(?:ED)?$|\bfinished with (?:problems|errors)\b|\btreated as errors\b",
        ),
    ),
    (
        Class::Count,
        3.0,
        concat!(
            r"(?i)\b[1-9]\d{0,2}(?:,?\d{3})* (?:\w+ ){0,2}(?:failed|failing|failures?|errors?|problems?|broken|offenses?)\b",
            r"|\b(?:failures?|failed|errors?)\s*[:=]\s*[1-9]",
            r"|^FAILED \((?:failures|errors)=",
        ),
    ),
    (
        Class::Error,
        3.2,
        // Compilers, linters and type checkers: a place, then the word `error`.
        r"^(?:\S+?:)?\S[^\s:(]*[:(]\d+(?:[:,.]\d+)?(?:[-:]\d+)*\)?:?(?: -)? +(?:fatal +)?(?i:error)\b|^\s+(?:\S+:)?\d+:\d+ +(?:- )?error\b|^error(?:\[\w+\])?:|: (?:fatal )?error(?: \w+)?: |\((?:error|fatal)\): |\bundefined reference to\b|^\S+:\d+:\d+: [A-Z]+\d+:? |\.go:\d+:\d+: |^CMake Error|^\s+\d+:\d+ +✖ |: \w+ error ?: |\.rb:\d+:in .*Error\)$|^Diff in \S+:\d+|^e: \S",
    ),
    (
        Class::Error,
        3.2,
        // Panics, failed assertions, signals, and permanent errors of the operating system.
        concat!(
            r"\bpanicked at\b|^panic: |^goroutine \d+ \[running\]|^E {2,}\S|(?i:\bassert(?:ion)?(?: \S+)? failed)",
            r"|(?i:segmentation fault|core dumped|stack overflow|out of memory|signal: \d+|no space left on device|command not found|permission denied|could not resolve host|connection refused)|\bKilled\b|(?i:\bsyntax error\b|\bruntime error: |^(?:php )?(?:fatal|parse) error|^undefined symbols)|^! [A-Z]|\[(?:emerg|alert|crit)\]",
        ),
    ),
    (
        Class::Error,
        3.2,
        // A level at the beginning of the line, or after the name of the program that reports it.
        r"^\W{0,6}(?:\S+[:\]] *)?\[?(?:ERROR|FATAL|SEVERE|CRITICAL|error|fatal|Error|Fatal|E)(?:\[\w+\])?\]?(?:: ?|!|\] ?| +-) *\S|^npm (?:ERR!|error) |^##\[error\]|level=(?:error|fatal)|^[\w-]+ error[:!] ",
    ),
    (
        Class::Error,
        3.0,
        // Exceptions. Their weight is lower, because a test that passes may print one.
        r"^Exception in thread|^\W*(?:(?:Caused by|Exception in thread|Uncaught|Unhandled|stderr|Suppressed)[^:]*: ?)?(?:[\w$]+[./:])*[A-Z][\w$]*(?:Error|Exception|Failure|Interrupt|Exit)\b(?::|$)|^Traceback \(most",
    ),
    (
        Class::Error,
        3.2,
        // Headings that name a failed test or step. The reasons are below them.
        concat!(
            r"^\s*● \S|^\s*(?:Failed tests?|Tests in error|Failures?|Failing \w+|There (?:was|were) \d+ (?:failure|error)s?):?$|^\* What went wrong",
            r"|^# +Failed test|^\s+Failure/Error: |^\s*\d+\) \S.*(?:Error|[Ff]ail)|^\s+\S+_test\.go:\d+: |^[A-Z]{1,4}\d{2,4} [A-Z]",
        ),
    ),
    (
        Class::Status,
        3.2,
        concat!(
            r"^\s*(?:✕|✖|✗|✘|×) \S|^not ok \d|--- FAIL: |^\s*FAIL(?:ED|URE)?\b[: \t!]|<<< (?:FAILURE|ERROR)!|^(?:ERROR|FAILED) \S+::|\bFAILED\b|^Failure\b",
            r"|= F$",
        ),
    ),
    (
        Class::Error,
        2.0,
        concat!(
            r"(?i)^(?:\*\*\* )?error \S|no such file or directory|could not resolve|connection (?:reset|timed out)|not accessible|not authorized|\bHTTP (?:error )?[45]\d\d\b",
            r"|\btimed out\b|\bunable to\b|\bcould ?n[o']t\b|\bcan ?not\b|\bcan't\b|\bno matching\b|\bdoes not exist\b|\bis not (?:a|defined|recognized|installed)\b|\bnot found\b|access denied|\bread-only file system|server returned|bad gateway|out of range|\bunresolved\b|\bmismatched?\b|\[(?:remote )?rejected\]|^would reformat|\battempt to \w+",
        ),
    ),
    (
        Class::Error,
        2.0,
        r"\b(?:ERROR|FATAL|SEVERE|CRITICAL|PANIC|DENIED|CONFLICT|BAD|REJECTED|BLOCKED|VIOLATION)\b",
    ),
    (
        Class::Word,
        1.0,
        r"(?i)\b(?:errors?|failed|failure|fails?|failing|fatal|exception|panic|aborted?|crash(?:ed)?|broken|invalid|unexpected|missing|unknown|violation|wrong|refused|denied|killed|expected|unsupported|unauthorized|forbidden)\b",
    ),
];

/// Lines that report success, even if a name in them contains a word such as `error`.
const GOOD: &str = concat!(
    r"\.\.\.+ *(?:ok|OK|passed|PASSED|yes|done|ignored)\b|\bPASS(?:ED)?\b|✓|✔|√|^ok\b|^\s*ok \d|\bBUILD SUCCESS|\btest result: ok",
    r"|# (?:TOD[O]|SKIP)\b|\(TOD[O]\)|\b(?i:xfail(?:ed)?)\b|\bSKIP(?:PED)?\b|(?i:(?:failures?|failed|errors?)[:=] *0\b|\b(?:0|no|without|zero) (?:\w+ )?(?:failed|failing|failures?|errors?|problems?)\b)",
    r"|\b(?i:successfully|succeeded)\b",
);
/// Log levels that are less severe than a warning.
const QUIET: &str =
    r"(?:\b(?:INFO|DEBUG|TRACE|NOTICE)\b|level=(?:info|debug|trace)|\[(?:info|debug|trace)\])";
/// Warnings, and failures from which the program recovered.
const WARNING: &str = r"(?i:\b(?:ignor(?:ed|ing)|retr(?:y|ied|ying)|recovered|non-?fatal|harmless|falling back)\b)|\b(?:WARN(?:ING)?|[Ww]arning|[Dd]eprecat\w+)\b|level=warn|##\[warning\]";
/// Lines that tools print after every failure and that say nothing about the failure itself.
const IDLE: &str = concat!(
    r"^\s*● Console|^\[ERROR\] *(?:$|To see the full stack trace|Re-run Maven using|For more information about",
    r"|After correcting the problems|(?:-> )?\[Help \d+\]|  mvn <goals>)|(?:\[\w+\] )?Picked up \w+_OPTIONS|^##\[endgroup\]",
    r"|A complete log of this run can be found|^> Run with --|^\s*at [\w.$/<>]+\(|^[\s#]*set -\w*e|^note: run with|\bcontinue-on-error\b|\bfail-on-\S+: (?:true|false)|\bfail-fast\b|if-no-files-found",
);

/// The numbers of the patterns that are not rules. They follow the numbers of [`RULES`].
const GOOD_AT: usize = RULES.len();
const QUIET_AT: usize = GOOD_AT + 1;
const WARNING_AT: usize = GOOD_AT + 2;
const IDLE_AT: usize = GOOD_AT + 3;
const PATTERNS: usize = GOOD_AT + 4;

/// A pattern that only tests whether a line matches.
///
/// It is an automaton whose states are made when a line needs them. `Regex` would also search the
/// pattern for literals and compile it for searching backwards, which takes longer than testing the
/// lines of a log. One automaton for all patterns would have many more states.
struct Pattern {
    automaton: DFA,
    caches: Pool<Cache, Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>>,
}

impl Pattern {
    fn new(source: &str) -> Self {
        let automaton = DFA::builder()
            .syntax(syntax::Config::new().utf8(false))
            .thompson(
                thompson::Config::new()
                    .utf8(false)
                    .which_captures(WhichCaptures::None),
            )
            .build(&format!("(?-u){source}"))
            .expect("the patterns of this file are valid");
        let made = automaton.clone();
        Self {
            automaton,
            caches: Pool::new(Box::new(move || made.create_cache())),
        }
    }

    fn is_match(&self, line: &[u8]) -> bool {
        let input = Input::new(line).earliest(true);
        let found = self
            .automaton
            .try_search_fwd(&mut self.caches.get(), &input);
        found
            .expect("invariant: the search has no bytes at which it stops, and never gives up")
            .is_some()
    }
}

/// Returns whether a line matches the pattern with the number `at`. The pattern is compiled at its
/// first use.
fn is_match(at: usize, line: &[u8]) -> bool {
    static COMPILED: [OnceLock<Pattern>; PATTERNS] = [const { OnceLock::new() }; PATTERNS];
    let pattern = COMPILED[at].get_or_init(|| {
        let others = [GOOD, QUIET, WARNING, IDLE];
        Pattern::new(match RULES.get(at) {
            Some(rule) => rule.2,
            None => others[at - GOOD_AT],
        })
    });
    pattern.is_match(line)
}

static IN_FRONT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("(?-u){PREFIX}")).expect("the pattern is valid"));

/// Calls `take` with the start and the end of each line that may report a failure, in order.
pub(super) fn each_suspect(text: &[u8], mut take: impl FnMut(usize, usize)) {
    ANY.each(text, 0..text.len(), |_, at| {
        // A literal may begin with the newline before its line.
        let mark = at + usize::from(text[at] == b'\n');
        let start = memchr::memrchr(b'\n', &text[..mark]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &text[mark..]).map_or(text.len(), |more| mark + more);
        take(start, end);
        // The next literal may begin with this line's newline.
        end
    });
}

/// Returns a line without the colour codes that a program printed in caret notation.
pub(super) fn uncoloured(line: &[u8]) -> Cow<'_, [u8]> {
    static COLOURS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?-u)\^\[\[[\d;]*m").expect("the pattern is valid"));
    match memchr::memmem::find(line, b"^[[") {
        Some(_) => COLOURS.replace_all(line, &b""[..]),
        None => Cow::Borrowed(line),
    }
}

/// Returns the length of the prefix that a CI runner put before a line.
pub(super) fn prefix(line: &[u8]) -> usize {
    IN_FRONT
        .find(&line[..line.len().min(LOOKED_AT)])
        .map_or(0, |front| front.end())
}

/// Returns what a line without its prefix reports, if it reports a failure or begins a step.
pub(super) fn classify(line: &[u8]) -> Option<Report> {
    let line = &line[..line.len().min(LOOKED_AT)];
    let at = (0..RULES.len()).find(|&at| is_match(at, line))?;
    if is_match(IDLE_AT, line) {
        return None;
    }
    let (class, weight, _) = RULES[at];
    if class == Class::Step {
        let is_output = false;
        return Some(Report {
            class,
            weight,
            is_output,
        });
    }
    let factor = match class {
        Class::Count | Class::StepEnd => 1.0,
        _ if is_match(GOOD_AT, line) => return None,
        _ if is_match(WARNING_AT, line) => 0.3,
        Class::End => 1.0,
        _ if is_match(QUIET_AT, line) => 0.4,
        _ => 1.0,
    };
    Some(Report {
        class,
        weight: weight * factor,
        is_output: matches!(class, Class::End | Class::StepEnd) || at == PLACED,
    })
}

/// Returns whether a line has nothing to do with a failure near it: it reports success, or is an
/// entry of a log below the level of an error.
pub(super) fn is_apart(line: &[u8]) -> bool {
    let line = &line[..line.len().min(LOOKED_AT)];
    is_match(QUIET_AT, line) || is_match(GOOD_AT, line) && !is_match(COUNTS, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of tools that say why or where something failed.
    const ERRORS: &str = r#"error[E0308]: mismatched types
error: linking with `cc` failed: exit status: 1
thread 'main' (3) panicked at src/main.rs:3:5:
src/a.c:3:5: error: expected ';' before '}' token
src/a.cc:8:10: fatal error: net/x.h: No such file or directory
/usr/bin/ld: a.o: in function `main': undefined reference to `f'
CMake Error at CMakeLists.txt:3 (find_package):
src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.
src/a.ts:3:5 - error TS2322: Type 'string' is not assignable to type 'number'.
  3:5  error  'x' is not defined  no-undef
  3:1       error    wrong indentation: expected 2 but found 3  (indentation)
  12:3  ✖  Unexpected unknown property "colr"  property-no-unknown
a.py:3:0: E1101: Module 'os' has no 'foo' member (no-member)
a.py:1:8: F401 [*] `os` imported but unused
a.py:3: error: Incompatible types in assignment  [assignment]
E       assert [1] == [2]
E   ModuleNotFoundError: No module named 'yaml'
ModuleNotFoundError: No module named 'yaml'
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
AssertionError: 3 != 4
./a_test.go:7:2: undefined: foo
    a_test.go:7: got 3, want 4
panic: runtime error: index out of range [3] with length 3
A.java:3: error: ';' expected
[ERROR] /w/A.java:[7,3] cannot find symbol
Exception in thread "main" java.lang.NullPointerException
Caused by: java.io.IOException: Cannot run program "gradle"
* What went wrong:
e: file:///w/A.kt:3:5 Unresolved reference: foo
npm ERR! code ERESOLVE
npm error 404 Not Found - GET /leftpad9
TypeError: Cannot read properties of undefined (reading 'a')
  ● sum › adds
[error] src/a.js: SyntaxError: Unexpected token (3:5)
ERROR in ./src/index.js 3:0-20
✘ [ERROR] Could not resolve "react"
error during build:
[!] (plugin x) RollupError: Could not resolve entry module
a.rb:3:in `foo': undefined method `bar' for nil:NilClass (NoMethodError)
     Failure/Error: expect(1).to eq(2)
PHP Fatal error:  Uncaught TypeError: foo(): Argument #1 must be of type int in /w/a.php:3
syntax error at a.pl line 3, near "}"
! Undefined control sequence.
bash: line 3: foo: command not found
cp: cannot stat 'x': No such file or directory
tar: x: Cannot open: No such file or directory
curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server
wget: unable to resolve host address 'x.invalid'
ssh: connect to host x port 22: Connection refused
rsync error: some files/attrs were not transferred (code 23) at main.c(1338)
fatal: Authentication failed for 'https://example.com/x.git/'
CONFLICT (content): Merge conflict in a.txt
 ! [rejected]        main -> main (non-fast-forward)
error: failed to push some refs to 'x'
Error: near line 3: no such table: t
Parse error near line 3: no such column: x
psql:migrate.sql:1127: ERROR:  column "x" does not exist
E: Unable to locate package foo
ERROR: Could not find a version that satisfies the requirement foo
ERROR: ResolutionImpossible: for help visit the documentation
x.xml:3: parser error : Opening and ending tag mismatch
jq: error (at <stdin>:1): Cannot index number with "a"
nginx: [emerg] unknown directive "lisen" in /etc/nginx/nginx.conf:3
1 out of 2 hunks FAILED -- saving rejects to file a.c.rej
gpg: BAD signature from "x"
==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1
a.c:3:5: runtime error: signed integer overflow
Segmentation fault (core dumped)
/bin/sh: line 1:  1358 Segmentation fault      ./a
Killed
Error: Process completed with exit code 1.
fatal: [web1]: FAILED! => {"changed": false, "msg": "x"}
│ Error: Unsupported argument
Error response from daemon: no such image
level=error msg="failed to start" err="bind: address already in use"
2026-11-24 10:00:00,123 ERROR [main] o.a.Main - no space left on device
Error: listen EADDRINUSE: address already in use :::3000
would reformat src/a.py
Diff in src/main.rs:3:
Undefined symbols for architecture arm64:
Could not find gem 'rails (= 9)' in locally installed gems.
In scripts/a.sh line 3: SC1073 (error): Couldn't parse this if expression.
a.sh: line 3: syntax error near unexpected token `fi'
a.yml:3:1: [error] syntax error: expected <block end>, but found '-' (syntax)
lua5.4: sim.lua:1: attempt to perform arithmetic on a nil value (field 'h')
sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) duplicate column name: x
Traceback (most recent call last):
java.lang.OutOfMemoryError: Java heap space
FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
#72 0.215 wget: server returned error: HTTP/1.1 502 Bad Gateway
Dockerfile:3 DL3006 error: Always tag the version of an image explicitly
error 18 at 0 depth lookup: self-signed certificate
#   Failed test 'pad leaves one blank'
gh: Resource not accessible by integration (HTTP 403)"#;

    /// Lines that report no failure although they contain words of failure reports.
    const FINE: &str = "test parse_error_is_reported ... ok
tests/test_errors.py::test_fails PASSED [ 3%]
    ✓ should fail on invalid patch (1 ms)
ok 3 - returns error
PASS src/errors.test.js
--- PASS: TestError (0.00s)
   Compiling thiserror v2.0.1
test result: ok. 9 passed; 0 failed; 0 ignored
Tests run: 19, Failures: 0, Errors: 0, Skipped: 0
[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0
0 errors, 0 warnings
Found 0 errors.
[INFO] BUILD SUCCESS
2 passed, 1 xfailed in 0.1s
Setting up libgpg-error0:amd64 (1.46-1) ...
[ERROR] -> [Help 1]
[ERROR] Re-run Maven using the -X switch to enable full debug logging.
Picked up JAVA_TOOL_OPTIONS: -Dfile.encoding=UTF8
set -euo pipefail
continue-on-error: true
certs/error_path.pem: OK
not ok 4 - wide characters # SKIP known failure
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
Receiving objects: 100% (10/10), done.";

    #[test]
    fn what_tools_say_of_failures_is_found() {
        let missed: Vec<&str> = ERRORS
            .lines()
            .filter(|line| {
                let text = format!("x\n{line}\nx\n");
                let mut weight: f64 = 0.0;
                each_suspect(text.as_bytes(), |from, to| {
                    let line = &text.as_bytes()[from..to];
                    let line = &line[prefix(line)..];
                    weight = classify(line).map_or(0.0, |report| report.weight);
                });
                weight < 2.0
            })
            .collect();
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    }

    #[test]
    fn success_is_no_failure() {
        let reported: Vec<&str> = FINE
            .lines()
            .filter(|line| classify(line.as_bytes()).is_some_and(|report| report.weight >= 2.0))
            .collect();
        assert!(reported.is_empty(), "{}", reported.join("\n"));
    }
}
