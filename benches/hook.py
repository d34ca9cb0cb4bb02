"""The time of a hook: what a client waits after a call of a tool, beside the start of other programs."""

import json
import os
import shutil
import sys

from harness import interleave, median, run, seconds

# Bytes of the results, and the goal for the hook in seconds.
SIZES = (("a small result", 100, 0.01), ("1 MB, stored", 1_000_000, 0.1))


def event(size):
    """An event of Claude Code with the result of a server."""
    line = "2026-11-26T00:00:00Z worker-7 INFO request %06d served\n"
    text = "".join(line % number for number in range(size // len(line % 0) + 1))[:size]
    return json.dumps({
        "hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "mcp__a__b",
        "tool_input": {}, "tool_response": [{"type": "text", "text": text}],
    })


def hook(env, report, rounds):
    store = os.path.join(env.scratch, "hook-store")
    others = {"cat": ["cat"], "python3 -c pass": [sys.executable, "-c", "pass"]}
    if shutil.which("node"):
        others["node -e 0"] = ["node", "-e", "0"]
    for what, size, goal in SIZES:
        path = os.path.join(env.scratch, f"event-{size}.json")
        with open(path, "w") as file:
            file.write(event(size))
        commands = {"spillgate": [env.binary, "--store", store, "hook", "claude-code"], **others}
        answer = os.path.join(env.scratch, "answer")
        variants = {
            name: (lambda command=command: run(env, command, path, answer).seconds)
            for name, command in commands.items()
        }
        times = {name: median(measured) for name, measured in interleave(variants, rounds).items()}
        ours = times.pop("spillgate")
        for name, theirs in times.items():
            met = ours <= goal if name == "cat" else None
            aim = f"≤ {seconds(goal)}" if name == "cat" else ""
            report.row(f"hook: {what}", seconds(ours), f"{seconds(theirs)} ({name})", theirs / ours, aim, met)
    shutil.rmtree(store, ignore_errors=True)
