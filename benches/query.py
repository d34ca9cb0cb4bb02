"""Benchmark 6: jq filters over a stored JSON document of 100 MB, against Debian's jq and against jaq.

A path at the front of a filter is followed in the bytes; jaq runs the rest, in a process of its own. Each answer is
compared with jq's before it is timed. Peak memory is that of all processes of a command together.
"""

import json
import os
import shutil
import subprocess
import time

import corpus
from harness import MB, Failed, interleave, median, output, run, seconds, status_kb

RECORDS = 560_000  # about 100 MB
PATHS = (("early", ".items[0].name"), ("middle", f".items[{RECORDS // 2}].name"), ("last", f".items[{RECORDS - 1}].name"))
FILTERS = (
    ("count of a selection", "[.items[] | select(.x > 5)] | length"),
    ("first page of names", ".items[].name"),
    ("sum", "[.items[].price] | add"),
    ("groups", ".items | group_by(.x) | map(length)"),
    ("whole document", "def all: .; all | .items | length"),  # no path at the front: every value is parsed
)


def document(cache):
    """The path of the document, which is generated if it does not exist."""
    path = os.path.join(cache, f"records-v{corpus.VERSION}-{RECORDS}.json")
    if os.path.exists(path):
        return path
    with open(path + ".part", "w", encoding="utf-8") as out:
        out.write(f'{{"meta":{{"version":"1.0","total":{RECORDS}}},"items":[')
        for i in range(RECORDS):
            out.write("," * (i > 0) + json.dumps(record(i), separators=(",", ":"), ensure_ascii=False))
        out.write('],"tail":{"target":{"name":"end"}}}')
    os.rename(path + ".part", path)
    return path


def record(i):
    return {"id": i, "name": f"item {i}", "x": i * 7919 % 10, "price": i * 0.5, "tags": ["alpha", "b\"eta"],
            "stock": {"site": f"s{i % 4}", "left": i % 90, "note": "é ü long text about the state of this item"}}


def query(env, report, rounds):
    jaq = next((path for path in (os.path.join(env.tools, "bin", "jaq"), shutil.which("jaq")) if path and os.path.exists(path)), None)
    if not shutil.which("jq"):
        raise Failed("jq is missing (Debian: apt-get install jq)")
    if not jaq:
        report.note(f"jaq left out: `cargo install jaq --locked --root {os.path.relpath(env.tools)}` puts it where this looks.")
    path = document(env.cache)
    store = os.path.join(env.scratch, "query-store")
    handle = json.loads(output(env, [env.binary, "put", "--json", "--store", store], stdin=path))["handle"]
    for what, filter in (*PATHS, *FILTERS):
        is_path = (what, filter) in PATHS
        operation = f"query, {what}: `{filter}`"
        report.attempt(operation, one_query, env, report, rounds, operation, filter, is_path, path, jaq,
                       [env.binary, "query", handle, filter, "--store", store])


def one_query(env, report, rounds, operation, filter, is_path, path, jaq, ours):
    rivals = {"jq": ["jq", "-c", filter, path]} | ({"jaq": [jaq, "-c", filter, path]} if jaq else {})
    page, wanted = output(env, ours), output(env, rivals["jq"])
    if not page or not same(page, wanted):
        raise Failed(f"wrong: {page[:80]} where jq says {wanted[:80]}")
    commands = {"ours": ours, **rivals}
    t = interleave({name: (lambda command=command: run(env, command).seconds) for name, command in commands.items()}, rounds)
    peaks = {name: peak(command) for name, command in commands.items()}
    against = "jq" if is_path or not jaq else "jaq"
    ratio = min(t[against]) / min(t["ours"])
    goal = 15 if is_path else 1
    rival = ", ".join(f"{name} {seconds(min(t[name]))} {peaks[name] / MB:,.0f} MB" for name in rivals)
    report.row(operation, f"{seconds(min(t['ours']))} {peaks['ours'] / MB:,.0f} MB", rival, ratio, f"≥ {goal}× {against}",
               (ratio >= goal) if against == "jq" or not is_path else None)


def same(page, wanted):
    """Whether jq's results begin with the page; numbers are compared by value, because jq 1.6 rewrites them."""
    ours, theirs = page.splitlines(), wanted.splitlines()
    return all(json.loads(a) == json.loads(b) for a, b in zip(ours, theirs)) and len(ours) <= len(theirs)


def peak(command):
    """The largest sum of the resident memory of a command and its children, read every few milliseconds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    largest = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
                everyone = [process.pid, *map(int, children.read().split())]
            largest = max(largest, sum(status_kb(pid, "VmRSS") for pid in everyone) * 1024)
        except OSError:
            pass  # one of them has just ended
        time.sleep(0.002)
    return largest
