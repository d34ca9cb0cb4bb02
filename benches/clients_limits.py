"""Measures what the tools of coding agents do with oversized output. docs/guarded-tools-compared.md has the results.

Run by hand.

A scripted model on 127.0.0.1 (that of the peer tests) tells the real client to call its own tools on files and commands of
known sizes. What the client then sends is what a model sees; it is printed shortened: bytes, beginning, end. Where the size
decides, it searches for the largest one that comes whole, some sizes a run.

    cargo xtask peers                              # installs the clients, once
    python3 benches/clients_limits.py --peers .peers [--client claude|codex] [--only read,bash]

The client runs in a home of its own, without the caller's environment and with proxies that lead nowhere.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "crates/spillgate/tests/peers"))

from model import Call, Model, results  # noqa: E402

PATIENCE = 240
CODEX_MODEL = os.environ.get("CODEX_MODEL", "scripted")
MIDDLE, END = "the middle of it", "the last line of it"
SHOWN = 420  # printed characters of the beginning and of the end


def environment(home, peers):
    nowhere = "http://127.0.0.1:9"
    local = "127.0.0.1,localhost"
    proxies = {"http_proxy": nowhere, "https_proxy": nowhere, "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "NO_PROXY": local, "no_proxy": local}
    return {"PATH": f"{peers / 'bin'}:{os.defpath}", "HOME": str(home), **proxies}


def claude(peers, model, home):
    """Claude Code: its command, and the additional environment."""
    wrapper = peers / "agents/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs"
    command = [peers / "bin/node", wrapper, "-p", "Do what you are told.", "--output-format", "json", "--strict-mcp-config"]
    command += ["--allowedTools", "Read,Bash,Grep,Glob,WebFetch"]
    quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"]
    more = dict.fromkeys(quiet, "1") | {"ENABLE_TOOL_SEARCH": "false", "CLAUDE_CODE_TMPDIR": str(home)}
    return command, more | {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}


def codex(peers, model, home):
    """Codex CLI: its command, and the additional environment. The model's name decides what it may be shown."""
    (home / "config.toml").write_text(
        f'model = "{CODEX_MODEL}"\nmodel_provider = "scripted"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
        f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{model.url}/v1"\nenv_key = "MODEL_KEY"\nwire_api = "responses"\n'
    )
    launcher = peers / "agents/node_modules/@openai/codex/bin/codex.js"
    command = [peers / "bin/node", launcher, "exec", "--skip-git-repo-check", "--json", "Do what you are told."]
    return command, {"CODEX_HOME": str(home), "MODEL_KEY": "none"}


CLIENTS = {"claude": claude, "codex": codex}


class Lab:
    """One client, and a folder of files for its tools."""

    def __init__(self, peers, client, work):
        self.peers, self.client, self.work = peers, client, work
        self.files = work / "files"
        self.files.mkdir()

    def run(self, calls):
        """Returns what the model is shown of each call, in order."""
        home = Path(tempfile.mkdtemp(dir=self.work))
        with Model([Call(tool, arguments) for tool, arguments in calls]) as model:
            command, more = CLIENTS[self.client](self.peers, model, home)
            env = environment(home, self.peers) | more
            ended = subprocess.run(
                command, cwd=self.files, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
            )
            # Each result as in its first request: a client may shorten old results.
            shown = []
            for body in model.requests:
                for text in results(body)[len(shown) :]:
                    shown.append(text + beside(body))
        if len(shown) != len(calls):
            print(f"!! {len(shown)} of {len(calls)} results: {ended.stdout[-400:]} {ended.stderr[-400:]}", file=sys.stderr)
        return shown + [""] * (len(calls) - len(shown))

    def cases(self, title, named):
        """Makes named calls and prints what is shown of each."""
        print(f"\n## {self.client}: {title}\n")
        for (name, call), text in zip(named.items(), self.run(list(named.values())), strict=True):
            print(f"### {name}\n{len(text.encode())} bytes, {text.count(chr(10)) + 1} lines, whole: {is_whole(text)}\n{short(text)}\n", flush=True)

    def limit(self, title, call, low, high, tolerance):
        """The largest size that comes whole, within `tolerance`. `call` makes a call of a size."""
        steps = 6
        while high - low > tolerance:
            sizes = sorted({low + (high - low) * step // (steps + 1) for step in range(1, steps + 1)} - {low, high})
            shown = self.run([call(size) for size in sizes])
            if "" in shown:
                print(f"limit: {title}: not measured")
                return
            for size, text in zip(sizes, shown, strict=True):
                if is_whole(text):
                    low = max(low, size)
                else:
                    high = min(high, size)
                    break
        print(f"limit: {title}: whole at {low}, not at {high}", flush=True)

    def lines(self, size, width=50, name=None):
        """A file of about `size` bytes in lines of `width`, with a mark in its last line."""
        path = self.files / (name or f"lines-{size}-{width}.txt")
        words = random.Random(size)
        with path.open("w") as file:
            count = max(size // width, 1)
            for number in range(count):
                file.write(MIDDLE + "\n" if number == count // 2 else "")
                text = f"{number:07} " + "".join(words.choice("abcdefghij klmnop qrstuv") for _ in range(width))
                file.write(text[: width - 1] + "\n")
            file.write(END + "\n")
        return str(path)

    def one_line(self, size):
        """A file of one line."""
        path = self.files / f"line-{size}.txt"
        half = "word " * (size // 10)
        path.write_text(half + MIDDLE + " " + half + END)
        return str(path)

    def some_lines(self, count):
        """A file of `count` short lines."""
        path = self.files / f"count-{count}.txt"
        half = "x\n" * (count // 2 - 1)
        path.write_text(half + MIDDLE + "\n" + half + END + "\n")
        return str(path)


def beside(body):
    """What the client adds to the newest result: text in the same message."""
    last = (body.get("messages") or [{}])[-1].get("content")
    texts = [block["text"] for block in last if block.get("type") == "text"] if isinstance(last, list) else []
    return "".join(f"\n<beside> {text}" for text in texts)


def is_whole(text):
    """Whether a text has its middle and its end: clients cut one or the other."""
    return MIDDLE in text and END in text


def short(text):
    """The beginning and the end of a text, with visible line ends."""
    text, *notes = text.split("\n<beside> ")
    if notes:
        return "\n".join([short(text), *(f"beside: {note}" for note in notes)])
    if len(text) <= 2 * SHOWN:
        return "```\n" + text + "\n```"
    told = [line[:200] for line in text[SHOWN:-SHOWN].splitlines() if re.search("truncated|omitted", line)]
    gone = "\n".join([f"<<< {len(text) - 2 * SHOWN} characters, among them: >>>", *told])
    return f"```\n{text[:SHOWN]}\n{gone}\n{text[-SHOWN:]}\n```"


def read(lab):
    """Claude Code's `Read`."""
    file = lambda path, **more: ("Read", {"file_path": str(path), **more})
    binary = lab.files / "data.bin"
    binary.write_bytes(bytes(range(256)) * 40)
    unknown = lab.files / "data"
    unknown.write_bytes(bytes(range(256)) * 40)
    (lab.files / "empty.txt").write_text("")
    big = lab.lines(2_000_000)
    lab.cases(
        "Read",
        {
            "20 KB, 400 lines": file(lab.lines(20_000)),
            "90 KB, 1,800 lines": file(lab.lines(90_000)),
            "250 KB, 5,000 lines": file(lab.lines(250_000)),
            "250 KB, 1,000 lines": file(lab.lines(250_000, 250)),
            "2 MB, 40,000 lines": file(big),
            "2 MB, lines 100 to 109": file(big, offset=100, limit=10),
            "2 MB, from line 100 on": file(big, offset=100),
            "2 MB, 20,000 lines asked for": file(big, offset=1, limit=20_000),
            "2 MB, allow_large": file(big, allow_large=True),
            "90 KB, past the end": file(lab.lines(90_000), offset=1_000_000),
            "90 KB, lines 100 to 109": file(lab.lines(90_000), offset=100, limit=10),
            "2 MB, past the end": file(big, offset=1_000_000),
            "2 MB, past the end, with a limit": file(big, offset=1_000_000, limit=10),
            "one line of 20 KB": file(lab.one_line(20_000)),
            "one line of 250 KB": file(lab.one_line(250_000)),
            "one line of 2 MB": file(lab.one_line(2_000_000)),
            "binary, .bin": file(binary),
            "binary, no suffix": file(unknown),
            "empty": file(lab.files / "empty.txt"),
            "missing": file(lab.files / "missing.txt"),
            "a directory": file(lab.files),
        },
    )
    lab.limit("Read, bytes of a file in lines of 250", lambda n: file(lab.lines(n, 250)), 10_000, 400_000, 1_000)
    lab.limit("Read, short lines", lambda n: file(lab.some_lines(n)), 100, 20_000, 1)
    lab.limit("Read, one line", lambda n: file(lab.one_line(n)), 1_000, 400_000, 500)


def bash(lab):
    """Claude Code's `Bash`."""
    run = lambda command, **more: ("Bash", {"command": command, "description": "measure", **more})
    lab.cases(
        "Bash",
        {
            "20 KB": run(f"cat {lab.lines(20_000)}"),
            "60 KB": run(f"cat {lab.lines(60_000)}"),
            "500 KB": run(f"cat {lab.lines(500_000)}"),
            "no output": run("true"),
            "fails with 3": run("echo out; echo err >&2; exit 3"),
            "60 KB, then fails": run(f"cat {lab.lines(60_000)}; exit 3"),
            "killed": run("echo before; kill -9 $$"),
            "sleeps over its time": run("echo before; perl -e 'sleep 60'", timeout=3000),
            # Bounded: a command moved to the background continues to write until the client ends it.
            "20 MB, over its time": run("yes | head -c 20000000; perl -e 'sleep 6'", timeout=3000),
        },
    )
    lab.limit("Bash, bytes of output", lambda n: run(f"cat {lab.lines(n)}"), 5_000, 100_000, 100)
    lab.limit("Bash, bytes of output of what fails", lambda n: run(f"cat {lab.lines(n)}; exit 3"), 5_000, 100_000, 100)


def search(lab):
    """Claude Code's `Grep` and `Glob`."""
    tree = lab.files / "tree"
    for number in range(3_000):
        path = tree / f"d{number % 30:02}" / f"file-{number:04}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"needle in {number}\n" * 10 + "hay\n" * 10)
    long = lab.files / "long.txt"
    long.write_text("x" * 100_000 + "needle" + "y" * 100_000 + "\n")
    grep = lambda **more: ("Grep", {"pattern": "needle", "path": str(tree), **more})
    lab.cases(
        "Grep and Glob",
        {
            "Grep, files (3,000)": grep(),
            "Grep, lines (30,000)": grep(output_mode="content"),
            "Grep, lines, head_limit 0": grep(output_mode="content", head_limit=0),
            "Grep, lines, offset": grep(output_mode="content", offset=29_990),
            "Grep, files, head_limit 0": grep(head_limit=0),
            "Grep, count": grep(output_mode="count"),
            "Grep, nothing": grep(pattern="no such thing"),
            "Grep, wrong pattern": grep(pattern="("),
            "Grep, a line of 200 KB": grep(path=str(long), output_mode="content"),
            "Glob, 3,000 files": ("Glob", {"pattern": "**/*.txt", "path": str(tree)}),
            "Glob, nothing": ("Glob", {"pattern": "**/*.none", "path": str(tree)}),
        },
    )


def web(lab):
    """Claude Code's `WebFetch`, which reaches nothing here."""
    fetch = lambda url: ("WebFetch", {"url": url, "prompt": "What does it say?"})
    lab.cases("WebFetch", {"loopback": fetch("http://127.0.0.1:9/"), "no network": fetch("https://example.com/")})


def command_of(model):
    """How to run a command: some models get `exec_command`, others a program that may call it."""
    if model == "scripted":
        return lambda cmd, **more: ("exec_command", {"cmd": cmd, **more})

    def run(cmd, **more):
        pragma = {key: more[key] for key in ("max_output_tokens",) if key in more}
        head = f"// @exec: {json.dumps(pragma)}\n" if pragma else ""
        arguments = json.dumps({"cmd": cmd, **more})
        body = f"const r = await tools.exec_command({arguments});\nconst {{output, ...rest}} = r;\ntext(rest);\ntext(output);\n"
        return ("exec", {"input": head + body})

    return run


def execute(lab):
    """Codex's `exec_command`."""
    run = command_of(CODEX_MODEL)
    binary = lab.files / "data.bin"
    binary.write_bytes(bytes(range(256)) * 40)
    kb = {size: lab.lines(size * 1000) for size in (20, 60, 500)}
    lab.cases(
        "exec_command",
        {
            "20 KB": run(f"cat {kb[20]}"),
            "60 KB": run(f"cat {kb[60]}"),
            "500 KB": run(f"cat {kb[500]}"),
            "500 KB, max_output_tokens 200": run(f"cat {kb[500]}", max_output_tokens=200),
            "500 KB, max_output_tokens 1,000,000": run(f"cat {kb[500]}", max_output_tokens=1_000_000),
            "5 MB, max_output_tokens 1,000,000": run(f"cat {lab.lines(5_000_000)}", max_output_tokens=1_000_000),
            "one line of 250 KB": run(f"cat {lab.one_line(250_000)}"),
            "no output": run("true"),
            "fails with 3": run("echo out; echo err >&2; exit 3"),
            "60 KB, then fails": run(f"cat {kb[60]}; exit 3"),
            "killed": run("echo before; kill -9 $$"),
            "missing file": run("cat missing.txt"),
            "binary": run(f"cat {binary}"),
            "sleeps longer than it is waited for": run("echo before; sleep 5; echo after", yield_time_ms=1000),
            "200 MB, longer than it is waited for": run("yes | head -c 200000000; sleep 5", yield_time_ms=1000),
        },
    )
    lab.limit("exec_command, bytes of output", lambda n: run(f"cat {lab.lines(n)}"), 1_000, 100_000, 100)
    lab.limit("exec_command, bytes, 1,000,000 tokens asked for", lambda n: run(f"cat {lab.lines(n)}", max_output_tokens=1_000_000), 1_000, 2_000_000, 500)


PARTS = {"claude": {"read": read, "bash": bash, "search": search, "web": web}, "codex": {"execute": execute}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, default=HERE.parent / ".peers", help="where `cargo xtask peers` installed")
    parser.add_argument("--client", choices=CLIENTS, help="only this one")
    parser.add_argument("--only", default="", help="a comma list of " + ", ".join(part for parts in PARTS.values() for part in parts))
    given = parser.parse_args()
    only = set(filter(None, given.only.split(",")))
    for client in [given.client] if given.client else CLIENTS:
        with tempfile.TemporaryDirectory() as work:
            lab = Lab(given.peers.resolve(), client, Path(work))
            for name, part in PARTS[client].items():
                if not only or name in only:
                    part(lab)


if __name__ == "__main__":
    main()
