"""Ten questions about five outputs, answered with Spillgate and with a file and grep.

usage: beside_a_file.py SPILLGATE (in a clone of this repository; prints a Markdown table)

For each way, the calls are those of an experienced user who does not know the output, and the tokens are those that a model
reads: what each call prints. Tokens are counted by Spillgate (o200k_base). With a file, the first call is the command with
`> out`, then its size and its last 20 lines of at most 400 characters. A page of both ways ends after 1,000 tokens.
"""

import json
import os
import subprocess
import sys
import tempfile

SPILLGATE = os.path.abspath(sys.argv[1])

BUILD = (
    'for m in $(seq 4000); do echo "compiling module $m of 4000"; '
    '[ $m = 3117 ] && echo "error: module 3117 needs libfoo 2.4, but found 2.1"; done; echo "build stopped: 1 error"; exit 3'
)
ORDERS = (
    """seq 3000 | awk 'BEGIN { print "[" } { printf "%s{\\"order\\": %d, \\"city\\": \\"%s\\", \\"total\\": %d}\\n", """
    """(NR > 1 ? "," : ""), $1, ($1 % 3 ? "Oslo" : "Lima"), $1 * 37 % 500 } END { print "]" }'"""
)
METADATA = "cargo metadata --format-version 1 --locked"
LOG = "git log --stat -n 200 a81c3954"
TREE = "cargo tree --locked --workspace --edges normal"

# Output, question, the answer (a part of what is printed), the calls with Spillgate, the calls with a file.
CASES = [
    (BUILD, "Why did the build fail?", "libfoo 2.4", [], ["grep -n -i error out"]),
    (BUILD, "After which module did the error come?", "module 3117 of 4000", [], ["grep -n -i -B 1 error out"]),
    (ORDERS, "What is the sum of the totals of Lima?", "249500",
     ["query last '[.[] | select(.city == \"Lima\") | .total] | add'"],
     ["head -n 3 out", "grep Lima out | grep -o 'total\": [0-9]*' | awk '{ s += $2 } END { print s }'"]),
    (ORDERS, "Which orders in Lima have a total over 497?", "1554",
     ["search last 'orders in Lima with a total over 497'"],
     ["head -n 3 out", "grep -E 'Lima.*total\": (49[89]|[5-9][0-9][0-9])' out"]),
    (METADATA, "Under which licence is regex-automata?", "MIT OR Apache-2.0",
     ["query last '.packages[] | select(.name == \"regex-automata\") | .license'"],
     ["grep -o '\"name\":\"regex-automata\",\"version\".\\{0,300\\}' out"]),
    (METADATA, "How many packages are there?", "526", [], ["grep -o '\"license_file\":' out | wc -l"]),
    (LOG, "Which commit parses results \"through their skeleton\"?", "a81c3954",
     ["grep last 'through their skeleton' -B 4"], ["grep -n -B 4 'through their skeleton' out"]),
    (LOG, "Which commits changed docs/redaction.md?", "docs/redaction.md",
     ["grep last 'docs/redaction.md' --max-tokens 1000"], ["grep -n 'docs/redaction.md' out"]),
    (TREE, "Which version of tokio is used?", "tokio v1", ["grep last 'tokio v' --max-matches 3"], ["grep -n -m 3 'tokio v' out"]),
    (TREE, "What depends on aho-corasick?", "aho-corasick",
     ["grep last 'aho-corasick' -B 2 --max-matches 5"], ["grep -n -m 5 -B 2 'aho-corasick' out"]),
]


def tokens(text, environment):
    """Returns the number of tokens of a text."""
    call = [SPILLGATE, "put", "--json", "--max-tokens", "0"]
    done = subprocess.run(call, input=text, capture_output=True, env=environment, check=True)
    return json.loads(done.stdout)["tokens"]


def cut(text):
    """Cuts a text after 4,000 bytes, which are about 1,000 tokens: no client shows a model more of a `grep`."""
    return text[:4000]


def main():
    root = subprocess.run(["git", "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=True).stdout.strip()
    print("| question | all | Spillgate: tokens, calls | a file: tokens, calls |\n|---|---|---|---|")
    sums = [0, 0, 0, 0]
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, SPILLGATE_STORE=f"{home}/store", PATH=f"{home}:{os.environ['PATH']}")
        os.symlink(SPILLGATE, f"{home}/spillgate")

        def shell(line):
            done = subprocess.run(["bash", "-c", line], capture_output=True, env=environment, cwd=root)
            return done.stdout

        for command, question, answer, ours, theirs in CASES:
            everything = shell(f"( {command} ) > {home}/out 2>/dev/null; cat {home}/out")
            line = command.replace("'", "'\\''")
            shown = [shell(f"spillgate run -- bash -c '{line}' 2>/dev/null")]
            shown += [shell(f"spillgate {call} 2>&1") for call in ours]
            listed = [shell(f"wc -lc {home}/out; tail -n 20 {home}/out | cut -c 1-400")]
            listed += [cut(shell(call.replace(" out", f" {home}/out"))) for call in theirs]
            found = [answer.encode() in b"".join(texts) for texts in (shown, listed)]
            counts = [sum(tokens(text, environment) for text in texts) for texts in (shown, listed)]
            sums = [a + b for a, b in zip(sums, [counts[0], len(shown), counts[1], len(listed)])]
            cells = [f"{n:,}, {calls}{'' if ok else ' (not found)'}" for n, calls, ok in zip(counts, (len(shown), len(listed)), found)]
            print(f"| {question} | {tokens(everything, environment):,} | {cells[0]} | {cells[1]} |")
    print(f"| sum | | {sums[0]:,}, {sums[1]} | {sums[2]:,}, {sums[3]} |")


main()
