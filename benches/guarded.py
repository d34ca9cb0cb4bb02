"""Benchmark 6: the guarded tools, as a client calls them from `spillgate tools`, against the commands of a shell.

The server already runs, as a client's does; the rivals have to be spawned, because that is how they are used. All trees
and files are warm. Each answer is compared with the rival's before it is timed: the same files, the same lines."""

import json
import os
import shutil
import subprocess
import time

import corpus
from harness import Failed, interleave, median, output, overlap, run, seconds

NEAR = 1.5  # at most this many times the rival's time
FILES = (60_000, 6_000)  # files of the text tree, in full and with --quick
NAMES = (1_000_000, 50_000)  # files of the tree of names, in full and with --quick
ENDINGS = ("rs", "py", "txt", "md", "toml")
PAGE_LINES = 20
QUESTIONS = (  # what it is, arguments, options of rg
    ("rare word, its lines", {"pattern": "E4217"}, ["-n"]),
    ("regex, its files", {"pattern": r"timeout after 1\d{3}ms on shard-0[1-3]\b", "mode": "files", "max_results": 100}, ["-l"]),
    ("word in every file, a page of 50", {"pattern": "status=200", "max_results": 50}, ["-c"]),
    ("no match", {"pattern": "zqx-not-here"}, ["-n"]),
)


class Tools:
    """`spillgate tools` over its standard streams."""

    def __init__(self, env, root):
        with open(os.path.join(env.scratch, "stderr"), "w") as stderr:
            command = [env.binary, "tools", "--root", root]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env.variables)
        self.last = 0

    def __enter__(self):
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.request("initialize", client)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Failed("`spillgate tools` is gone") from error

    def request(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last:
                if "error" in message:
                    raise Failed(f"{method}: {message['error'].get('message')}")
                return message["result"]
        raise Failed("`spillgate tools` ended amid a request")

    def call(self, tool, arguments):
        """The text of the answer."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        text = "".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise Failed(f"{tool}: {text[:200]}")
        return text

    def timed(self, tool, arguments):
        begin = time.perf_counter()
        self.call(tool, arguments)
        return time.perf_counter() - begin


def guarded(env, report, rounds):
    report.attempt("grep_content", grep, env, report, rounds)
    report.attempt("glob_files", glob, env, report, rounds)
    report.attempt("read_file", read, env, report, rounds)


def complete(folder, make):
    """A folder that `make` fills, once."""
    if not os.path.isdir(folder):
        shutil.rmtree(folder + ".part", ignore_errors=True)
        make(folder + ".part")
        os.rename(folder + ".part", folder)
    return folder


def text_tree(env):
    """A log of 1 GB, cut between lines into 60,000 files."""
    count = FILES[env.quick]
    log = corpus.ensure(env.cache, 128 if env.quick else 1024)
    share = os.path.getsize(log) // count + 1

    def make(folder):
        with open(log, "rb") as source:
            for number in range(count):
                inside = os.path.join(folder, f"d{number % 300}", f"s{number // 300 % 20}")
                os.makedirs(inside, exist_ok=True)
                with open(os.path.join(inside, f"f{number}.{ENDINGS[number % 5]}"), "wb") as out:
                    out.write(source.read(share) + source.readline())

    return complete(os.path.join(env.cache, f"tree-{count}"), make), count


def name_tree(env):
    """A million empty files, a hundred in a directory."""
    count = NAMES[env.quick]

    def make(folder):
        for directory in range(count // 100):
            inside = os.path.join(folder, f"a{directory // 100}", f"b{directory % 100}")
            os.makedirs(inside)
            for number in range(100):
                os.close(os.open(os.path.join(inside, f"file{number}.{ENDINGS[number % 5]}"), os.O_CREAT | os.O_WRONLY, 0o600))

    return complete(os.path.join(env.cache, f"names-{count}"), make), count


def near(report, operation, rival_name, ours, rival):
    """A row with the goal to be near the rival."""
    ratio = median(rival) / median(ours)
    report.row(operation, seconds(median(ours)), f"{rival_name} {seconds(median(rival))}", ratio, f"≤ {NEAR}× {rival_name}",
               ratio >= 1 / NEAR, "within noise" if overlap(ours, rival) else "")


def grep(env, report, rounds):
    root, count = text_tree(env)
    with Tools(env, root) as tools:
        for what, arguments, options in QUESTIONS:
            operation = f"grep_content in {count:,} files, {what}"
            report.attempt(operation, one_grep, env, report, tools, root, operation, arguments, options, rounds)


def one_grep(env, report, tools, root, operation, arguments, options, rounds):
    rg = ["rg", "--no-config", "--no-ignore-parent", "--no-heading", *options, arguments["pattern"], root]
    lines = sorted(output(env, rg, ok=(0, 1)).decode().replace(root + "/", "").splitlines())
    text = tools.call("grep_content", arguments)
    rows = sorted(row for row in text.splitlines() if not row.startswith(("[", "Found ", "No matches")))
    if "-c" in options:
        total = sum(int(line.rsplit(":", 1)[1]) for line in lines)
        right = f"of {total}]" in text and len(rows) == arguments["max_results"]
    else:
        right = set(rows) <= set(lines) and len(rows) == min(len(lines), arguments.get("max_results", len(lines)))
    if not right:
        raise Failed(f"wrong: {len(rows)} rows, rg has {len(lines)} lines; {text[:100]}")
    t = interleave({"ours": lambda: tools.timed("grep_content", arguments), "rg": lambda: run(env, rg, ok=(0, 1)).seconds}, rounds)
    near(report, operation, "rg", t["ours"], t["rg"])


def glob(env, report, rounds):
    fd = next((name for name in ("fdfind", "fd") if shutil.which(name)), None)
    if not fd:
        report.note("glob_files left out: no fd (Debian: apt-get install fd-find).")
        return
    root, count = name_tree(env)
    with Tools(env, root) as tools:
        for pattern, more in (("file77.txt", {"max_results": 100}), ("*.toml", {"max_results": 100}), ("*.none", {})):
            operation = f"glob_files {pattern} among {count:,} files"
            report.attempt(operation, one_glob, env, report, tools, [fd, "--no-ignore-parent", "--type", "f", "--glob", pattern], root, operation,
                           {"pattern": pattern, **more}, rounds)


def one_glob(env, report, tools, fd, root, operation, arguments, rounds):
    command = [*fd, root]
    found = {line.removeprefix(root + "/") for line in output(env, command, ok=(0, 1)).decode().splitlines()}
    text = tools.call("glob_files", arguments)
    rows = [row for row in text.splitlines() if not row.startswith(("[", "No files"))]
    if not set(rows) <= found or len(rows) != min(len(found), 100) or (len(found) > 100 and f"of {len(found)}]" not in text):
        raise Failed(f"wrong: {len(rows)} names, fd has {len(found)}; {text[:100]}")
    t = interleave({"ours": lambda: tools.timed("glob_files", arguments), "fd": lambda: run(env, command, ok=(0, 1)).seconds}, rounds)
    near(report, operation, "fd", t["ours"], t["fd"])


def read(env, report, rounds):
    """The last 20 lines, by number: the first time, when the file's lines are unknown, and again."""
    log = corpus.ensure(env.cache, 128 if env.quick else 1024)
    with open(log, "rb") as file:
        total = sum(block.count(b"\n") for block in iter(lambda: file.read(4 << 20), b""))
    first = total - PAGE_LINES
    asked = {"file_path": os.path.basename(log), "offset": first, "limit": PAGE_LINES}
    sed, tail = ["sed", "-n", f"{first + 1},{total}p", log], ["tail", "-n", str(PAGE_LINES), log]
    wanted = output(env, sed).decode().splitlines()

    def page_at_first():
        with Tools(env, os.path.dirname(log)) as tools:
            begin = time.perf_counter()
            text = tools.call("read_file", asked)
            took = time.perf_counter() - begin
        if text.splitlines()[1:] != wanted:
            raise Failed(f"wrong: {text[:100]}")
        return took

    with Tools(env, os.path.dirname(log)) as tools:
        variants = {"again": lambda: tools.timed("read_file", asked), "first": page_at_first,
                    "sed": lambda: run(env, sed).seconds, "tail": lambda: run(env, tail).seconds}
        t = interleave(variants, rounds)
    size, sed_time = f"{os.path.getsize(log) / 1e9:.2f} GB", median(t["sed"])
    rival = f"sed -n {seconds(sed_time)}, tail {seconds(median(t['tail']))}"
    for what, name in (("for the first time", "first"), ("again", "again")):
        ours = median(t[name])
        report.row(f"read_file, {PAGE_LINES} lines at the end of {size}, {what}", seconds(ours), rival, sed_time / ours, "≥ 1× sed", ours <= sed_time)
