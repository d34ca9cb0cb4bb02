"""Benchmark of extraction: the cost of planning and reading in chunks, apart from the model.

Both run in process, with a scripted model. No rival does the same; the baseline of the plan is `wc -l` over the same
bytes, and the limit of the speed-up is 4, the number of chunks that are read in parallel.
"""

import json
import os
import subprocess

import outline
from harness import MB, Failed, median, run, seconds

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CALLS = 500  # a second, without the model's time
SPEED_UP = 3.8  # of four in parallel


def example(name):
    command = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "spillgate-extract", "--example", name]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        raise Failed(f"`{name}` ended with {ended.returncode}: {ended.stderr[-300:].strip()}")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def extract(env, report, runs):
    report.attempt("chunk planning", planning, env, report, runs)
    report.attempt("map", reading, report)


def planning(env, report, runs):
    path = outline.generated(env.cache, "log")
    floor = os.path.getsize(path) / MB / median([run(env, ["wc", "-l", path]).seconds for _ in range(runs)])
    for found in example("plan_bench"):
        report.row(f"chunk plan of a {found['kind']}, {found['megabytes']:.0f} MB, {found['chunks']} chunks of {found['chunk_tokens']} tokens",
                   f"{seconds(found['seconds'])}, {found['mb_per_s']:.0f} MB/s", f"wc -l {floor:.0f} MB/s", found["mb_per_s"] / floor)


def reading(report):
    [found] = example("map_bench")
    calls = found["calls_per_second"]
    report.row(f"chunks read a second, model of no time ({found['calls']} calls)", f"{calls:.0f}/s", "", "", f"≥ {CALLS}/s", calls >= CALLS)
    faster = found["speed_up"]
    report.row("four chunks at once, model of 50 ms", seconds(found["four_at_once_s"]), f"one at a time {seconds(found['one_at_a_time_s'])}",
               faster, f"≥ {SPEED_UP}×", faster >= SPEED_UP)
