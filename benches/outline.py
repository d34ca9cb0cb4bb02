"""Benchmark of outlines: the speed of finding the shape of a stored result of 100 MB, in process.

The time is that of the outline alone, the best of some runs, and the speed is in bytes of the view that it reads. The
baseline is `wc -l`, which only counts newlines, in one thread; no rival does the same.
"""

import json
import os
import random
import subprocess

import corpus
from harness import MB, Failed, median, run, seconds

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VERSION = 1  # part of the file names: raise it whenever the bytes change
BYTES = 100 * MB
GOALS = {"log": 200, "json": 300}  # MB/s
SMALL_LOG_MS = 3


def issue(r, number):
    """Issues as an issue tracker's API returns them."""
    who = r.choice(("octocat", "hubot", "mona", "defunkt"))
    return {
        "url": f"https://api.example.com/repos/o/r/issues/{number}", "id": 1_000_000 + number * 37, "number": number,
        "title": " ".join(r.choices(("crash", "slow", "docs", "typo", "api"), k=5)),
        "user": {"login": who, "id": r.randint(1, 9999), "type": "User", "site_admin": False},
        "labels": [{"id": r.randint(1, 99), "name": r.choice(("bug", "docs", "perf"))} for _ in range(r.randint(0, 3))],
        "state": r.choice(("open", "closed")), "assignee": r.choice((None, {"login": who, "id": 4})),
        "created_at": f"2026-{r.randint(1, 12):02}-{r.randint(1, 28):02}T10:00:00Z", "score": round(r.random() * 100, 3),
        "body": "lorem ipsum dolor " * r.randint(1, 6),
    }


def row(r, number):
    note = '"two\nlines"' if number % 50 == 0 else f"note {r.randint(1, 1000)}"
    return (f"{number},2026-{r.randint(1, 12):02}-{r.randint(1, 28):02}T10:00:00Z,{r.choice(('eu', 'us', 'ap'))},"
            f"{r.random() * 1000:.2f},{r.choice(('true', 'false'))},{note}\n")


def json_pieces(r):
    yield from (json.dumps(issue(r, number), separators=(",", ":")) for number in range(10**9))


def csv_pieces(r):
    yield from (row(r, number) for number in range(10**9))


def generated(directory, kind):
    """The path of a corpus, which is generated if it does not exist: the same bytes on every machine."""
    if kind == "log":
        return corpus.ensure(directory, 100)
    path = os.path.join(directory, f"outline-v{VERSION}.{kind}")
    if os.path.exists(path):
        return path
    before, between, after = ("[", ",", "]") if kind == "json" else ("id,when,region,amount,ok,note\n", "", "")
    with open(path + ".part", "w", encoding="utf-8") as out:
        size = out.write(before)
        for number, piece in enumerate((json_pieces if kind == "json" else csv_pieces)(random.Random(corpus.SEED))):
            if size >= BYTES:
                break
            size += out.write((between if number else "") + piece)
        out.write(after)
    os.rename(path + ".part", path)
    return path


def figures(path, runs):
    example = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "spillgate-outline", "--example", "outline", "--"]
    ended = subprocess.run([*example, path, "--runs", str(runs)], cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        raise Failed(f"`outline` ended with {ended.returncode}: {ended.stderr[-300:].strip()}")
    *lines, last = ended.stdout.splitlines()
    return lines, json.loads(last)


# What the outline of each corpus must contain for its speed to count.
TOLD = {"log": " like it)", "json": ".state: string (2 distinct", "csv": "region: text (3 distinct"}


def outline(env, report, runs):
    for kind, told in TOLD.items():
        report.attempt(f"outline, {kind}", one_kind, env, report, kind, told, runs)
    report.attempt("outline, small log", small_log, env, report)


def one_kind(env, report, kind, told, runs):
    path = generated(env.cache, kind)
    lines, found = figures(path, runs)
    if found["kind"] != kind or not any(told in line for line in lines):
        raise Failed(f"wrong: a {found['kind']} without {told!r}")
    floor = median([run(env, ["wc", "-l", path]).seconds for _ in range(runs)])
    goal = GOALS.get(kind)
    speed = found["mb_per_s"]
    report.row(f"outline of a {kind}, {found['bytes'] / MB:.0f} MB (view {found['view_bytes'] / MB:.0f} MB)", f"{speed:.0f} MB/s",
               f"wc -l {os.path.getsize(path) / MB / floor:.0f} MB/s", speed / (os.path.getsize(path) / MB / floor),
               f"≥ {goal} MB/s" if goal else "", speed >= goal if goal else None)


def small_log(env, report):
    path = os.path.join(env.scratch, "small.log")
    with open(generated(env.cache, "log"), "rb") as whole, open(path, "wb") as out:
        out.write(whole.read(MB))
    _, found = figures(path, 21)
    floor = median([run(env, ["wc", "-l", path]).seconds for _ in range(5)])
    report.row("outline of a log, 1 MB", seconds(found["seconds"]), f"wc -l, spawned {seconds(floor)}", floor / found["seconds"],
               f"≤ {SMALL_LOG_MS} ms", found["seconds"] * 1000 <= SMALL_LOG_MS)
