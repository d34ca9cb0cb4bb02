//! How test and build tools are recognised, and how they report failures.

/// How a tool is recognised, what tells of a failure, and its summary.
pub(super) struct Tool {
    pub(super) marks: &'static [&'static str],
    pub(super) failure: &'static str,
    pub(super) total: &'static str,
}

/// What runs the tools puts in front of their lines: GitHub Actions and Jenkins
/// the time, the former's downloaded logs also the job and the step.
pub(super) const PREFIX: &str =
    r"(?:(?:[^\t\n]+\t[^\t\n]+\t)?\[?\d{4}-\d\d-\d\d[T ][\d:.]+Z?\]? )?";

/// Summaries that tell of success or of no failure, unless [`NONZERO`] matches
/// as well.
pub(super) const GOOD: &str = concat!(
    r"BUILD SUCCESS|test result: ok|\bpass(?:ed|ing)\b|no tests ran|Ran \d+ tests",
    r"|(?i:(?:failures?|failed|errors?)[:=] ?0\b|\b(?:0|no) (?:\w+ )?(?:failed|failing|failures?|errors?|problems?)\b)",
);
/// A count of failures that is not zero.
pub(super) const NONZERO: &str = concat!(
    r"(?i)\b(?:failed|failing|failures?|errors?)[:=] ?[1-9]",
    r"|\b[1-9]\d* (?:\w+ )?(?:failed|failing|failures?|errors?|problems?)\b",
);
/// What Maven says of every failure, and Java on its error output.
pub(super) const IDLE: &str = concat!(
    r"^\[ERROR\] +(?:To see the full stack trace|Re-run Maven using|For more information about",
    r"|After correcting the problems|(?:-> )?\[Help \d+\]|Picked up \w+_OPTIONS)",
);

/// What no tool of the list above printed, or what runs it: shells, Jenkins,
/// GitHub Actions, stack traces. The last of [`TOOLS`].
pub(super) const ANY: usize = TOOLS.len() - 1;

pub(super) const TOOLS: [Tool; 13] = [
    // cargo test and rustc, with the place of an error.
    Tool {
        marks: &["test result: ", "error: could not compile", "\nerror[E"],
        failure: r"test .* \.\.\. FAILED|thread '.*' .*panicked at .*(?:\n.+)?|error(?:\[E\d+\])?: .*(?:\n +--> .*)?",
        total: r"test result: .*|error: could not compile .*",
    },
    Tool {
        marks: &["test session starts ==", "short test summary info"],
        failure: r"(?:FAILED|ERROR) \S+::.*",
        total: r"=+ .*\b(?:passed|failed|errors?|no tests ran)\b.* =+",
    },
    Tool {
        marks: &["Traceback (most recent call last)"],
        failure: r"[\w.]*(?:Error|Exception|KeyboardInterrupt|SystemExit)(?:: .*)?",
        total: r"Ran \d+ tests? in .*|FAILED \(.*\)",
    },
    // jest, and vitest which prints much the same.
    Tool {
        marks: &["Test Suites: ", "Test Files "],
        failure: r" *(?:●|✕|×|FAIL) +\S.*",
        total: r" *(?:Tests|Test Suites|Test Files): .*",
    },
    Tool {
        marks: &[" passing (", " failing\n"],
        failure: r" +\d+\) .*",
        total: r" +\d+ (?:passing|failing|pending)\b.*",
    },
    Tool {
        marks: &["--- FAIL: ", "\nFAIL\t", "\nok  \t"],
        failure: r" *--- FAIL: .*|\S+\.go:\d+:\d+: .*|panic: .*",
        total: r"FAIL\t.*",
    },
    Tool {
        marks: &["BUILD FAILURE", "BUILD SUCCESS", "Tests run: "],
        failure: r"\[ERROR\] +\S.*|\[INFO\] .*\. FAILURE \[.*|Tests in error:|Failed tests:.*|.*<<< (?:FAILURE|ERROR)!.*",
        total: r"(?:\[\w+\] +)?Tests run: .*|\[\w+\] BUILD \w+",
    },
    Tool {
        marks: &["BUILD FAILED in", "FAILURE: Build failed"],
        failure: r"> Task .* FAILED|\S.* > .* FAILED|e: .*|\S+: error: .*|\* What went wrong:\n.*",
        total: r"\d+ tests completed.*|BUILD FAILED in .*",
    },
    // gcc, clang, make and what drives them.
    Tool {
        marks: &[
            ": error: ",
            "make: *** ",
            "ninja: build stopped",
            "undefined reference",
        ],
        failure: r"\S+:\d+(?::\d+)?: (?:fatal )?error: .*|make(?:\[\d+\])?: \*\*\* .*|.*undefined reference to .*|ld: .*",
        total: r"\d+ errors? generated\.|ninja: build stopped.*",
    },
    Tool {
        marks: &["npm ERR!", "npm error "],
        failure: r"npm (?:ERR!|error) (?:code|[A-Z]).*",
        total: r"npm (?:ERR!|error) Exit status.*",
    },
    // tsc, and ruff which ends alike.
    Tool {
        marks: &[": error TS", "- error TS", "\nFound "],
        failure: r"\S+(?:\(\d+,\d+\)|:\d+:\d+)(?::| -) error TS\d+: .*|\S+:\d+:\d+: [A-Z]+\d+ .*",
        total: r"Found \d+ errors?.*",
    },
    // eslint.
    Tool {
        marks: &["✖ "],
        failure: r"(?:\S.*\.\w+\n)? +\d+:\d+ +error +\S.*",
        total: r"✖ \d+ problems?.*",
    },
    Tool {
        marks: &[
            "Finished: ",
            "##[error]",
            "ERROR: ",
            "\nerror: ",
            "\nError: ",
            "fatal: ",
            " panicked at ",
            "Exception",
            "FAILED",
            "exit code ",
            "exit status ",
            "exited with ",
        ],
        failure: concat!(
            r"(?:stderr: )?(?:ERROR|FATAL|Error|error|fatal)(?:\[\w+\])?: .*|##\[error\].*",
            r"|(?:Caused(?: by)?: |Exception in thread .*)?(?:[\w$]+\.)*[\w$]+(?:Exception|Error)(?:: .*)?",
            r"|thread '.*' .*panicked at .*(?:\n.+)?|.*\bFAILED\b.*",
            r"|.*\b(?:[Ee]xit(?:ed with)? (?:code|status)|[Ee]xited with|[Ee]rror code):? [1-9].*",
        ),
        total: r"Finished: (?:FAILURE|ABORTED|UNSTABLE)",
    },
];
