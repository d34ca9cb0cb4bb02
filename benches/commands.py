"""Whole commands, as a shell's user or a hook waits for them, and what a large result costs through the gateway: this
program beside an older one (`--old PATH`) and beside a rival, in turns.

Each figure has the least and the most of its rounds. Commands keep their stores in memory (/dev/shm), so that the disk
adds no noise; the gateway's stores are on disk, because a result must be there before its handle is shown.
"""

import hashlib
import json
import os
import shutil
import tempfile
import time

import corpus
from harness import MB, interleave, median, output, run, seconds
from query import document
from relay import call_series

WORDS = "connection reset while reading the response header"
WHY = "why did it fail?"
# What nothing that stores and hashes a result can save: printed beside what the gateway adds.
LIMITS = ("SHA-256", "write + fsync")


def commands(env, report):
    rounds = 3 if env.quick else 5
    memory = tempfile.mkdtemp(prefix="spillgate-bench-", dir="/dev/shm")
    try:
        files = inputs(env, memory)
        programs = {name: path for name, path in (("old", env.old), ("now", env.binary)) if path}
        handles = {name: stored(env, path, files, os.path.join(memory, name)) for name, path in programs.items()}
        rows = []
        for what, arguments, stdin, goal, rival in table(env, files):
            variants = {name: timed(env, [path, "--store", os.path.join(memory, name), *arguments(handles[name])], stdin)
                        for name, path in programs.items()}
            variants |= {name: timed(env, command) for name, command in rival.items()}
            report.attempt(what, row, report, rows, what, goal, variants, rounds)
        report.attempt("results through the gateway", gateway, env, report, rows, programs, rounds)
        head = ("command", *programs, "rival", "goal")
        report.detail(f"Whole commands, {rounds} rounds in turns: median, and the least and the most", head, rows)
    finally:
        shutil.rmtree(memory, ignore_errors=True)


def inputs(env, folder):
    """Name → path of the inputs: logs of several sizes, and 1 MB of JSON."""
    log = corpus.ensure(env.cache, 128)
    files = {"128 MB": log, "JSON, 95 MB": document(env.cache)}
    with open(log, "rb") as source:
        start = source.read(MB)
    for name, size in (("2 KB", 2000), ("20 KB", 20_000), ("1 MB", MB)):
        files[name] = os.path.join(folder, name.replace(" ", ""))
        with open(files[name], "wb") as out:
            out.write(start[:size])
    files["JSON, 1 MB"] = os.path.join(folder, "records.json")
    with open(files["JSON, 95 MB"], encoding="utf-8") as source, open(files["JSON, 1 MB"], "w", encoding="utf-8") as out:
        text = source.read(MB)
        out.write(text[:text.rindex(",{")] + "]}")
    return files


def stored(env, program, files, store):
    """Name → handle of the inputs in a store of this program."""
    return {name: json.loads(output(env, [program, "put", "--json", "--store", store], stdin=path))["handle"] for name, path in files.items()}


def table(env, files):
    """What is measured: name, arguments made from the handles, standard input, goal in seconds, rival."""
    yield "`run -- true`", lambda _: ["run", "true"], None, 0.004, {}
    for name, goal in (("2 KB", None), ("20 KB", 0.010), ("1 MB", None), ("JSON, 1 MB", None), ("128 MB", None)):
        yield f"`put` of {name}", lambda _: ["put"], files[name], goal, {}
    for name, question, goal in (("1 MB", WORDS, 0.008), ("1 MB", WHY, 0.008), ("JSON, 1 MB", WORDS, None),
                                 ("128 MB", WORDS, 0.1), ("128 MB", WHY, 0.1)):
        yield (f"`search` of {name}: {'why' if question == WHY else 'words'}",
               lambda h, name=name, question=question: ["search", h[name], question], None, goal, {})
    for name, goal in (("1 MB", None), ("128 MB", 0.1)):
        yield f"`outline` of {name}", lambda h, name=name: ["outline", h[name]], None, goal, {"wc -l": ["wc", "-l", files[name]]}
    for name in ("1 MB", "128 MB"):
        rival = {"rg -c": ["rg", "--no-config", "-c", "E4217", files[name]]}
        yield f"`grep` of {name}", lambda h, name=name: ["grep", h[name], "E4217"], None, None, rival
    yield "`read` of the last lines of 128 MB", lambda h: ["read", h["128 MB"], "--tail"], None, None, {"tail": ["tail", files["128 MB"]]}
    for what, filter in (("a path", ".items[0].name"), ("`add`", "[.items[].price] | add"), ("`select`, `length`", "[.items[] | select(.x > 5)] | length")):
        rival = {"jq": ["jq", "-c", filter, files["JSON, 95 MB"]], "jaq": [env.tool("bin/jaq"), "-c", filter, files["JSON, 95 MB"]]}
        yield f"`query` of 95 MB: {what}", lambda h, filter=filter: ["query", h["JSON, 95 MB"], filter], None, None, rival


def timed(env, command, stdin=None):
    return lambda: run(env, command, stdin, ok=(0, 1)).seconds


def spread(values):
    return f"{seconds(median(values))} ({seconds(min(values))} – {seconds(max(values))})"


def row(report, rows, what, goal, variants, rounds):
    t = interleave(variants, rounds)
    rivals = ", ".join(f"{name} {spread(values)}" for name, values in t.items() if name not in ("old", "now"))
    ours = median(t["now"])
    aim = "" if goal is None else f"≤ {seconds(goal)}: {'met' if ours <= goal else 'missed'}"
    rows.append((what, *(spread(t[name]) for name in ("old", "now") if name in t), rivals, aim))
    report.progress("  " + " | ".join(rows[-1]))


def took(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def write(path, data):
    """Writes a new file to the disk."""
    with open(path, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    os.remove(path)


def gateway(env, report, rows, programs, rounds):
    """What the gateway adds to a large result that it stores and previews: the difference to the direct call."""
    for megabytes, calls, goal in ((1, (5, 60), 0.002), (16, (2, 12), 0.012)):
        what, arguments = f"{megabytes} MB", json.dumps({"mb": megabytes})
        store = os.path.join(env.scratch, "commands-store")
        echo = [env.tool("echo_server")]
        variants = {"direct": call_series(env, "big", *calls, echo, arguments)}
        for name, path in programs.items():
            variants[name] = call_series(env, "big", *calls, [path, "mcp", "--store", f"{store}-{name}", "--", *echo], arguments)
        data = b"x" * (megabytes * MB)
        variants |= {"SHA-256": lambda: took(lambda: hashlib.sha256(data)), "write + fsync": lambda: took(lambda: write(store, data))}
        t = interleave(variants, rounds)
        direct = [one["p50_ns"] / 1e9 for one in t["direct"]]
        added = {name: [one["p50_ns"] / 1e9 - base for one, base in zip(t[name], direct)] for name in programs}
        others = ", ".join(f"{name} {spread(values)}" for name, values in {"direct": direct, **{name: t[name] for name in LIMITS}}.items())
        aim = f"≤ {seconds(goal)}: {'met' if median(added['now']) <= goal else 'missed'}"
        rows.append((f"a result of {what} through the gateway: added", *(spread(added[name]) for name in programs), others, aim))
        report.progress("  " + " | ".join(rows[-1]))
        for name in programs:
            shutil.rmtree(f"{store}-{name}", ignore_errors=True)
