"""A session of twenty steps in Claude Code, with five large outputs, with and without our hooks: the
tokens (o200k) that the model is sent in all, and whether each request begins with the messages of the
one before, so that a provider's prompt cache serves them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import common
from common import Setup, Verdict
from hooked_clients import Client
from model import Call, Model

BIG = "seq -f '2026-11-26T00:00:00Z worker-7 INFO request %06g served' 1 6000"


def script(client: Client) -> list[Call]:
    """Twenty steps; a large output after every three small ones."""
    steps = []
    large = [
        client.shell(BIG),
        client.shell(f"{BIG}; exit 3"),
        Call("journal", {"kb": 300}),
        client.shell("seq 1 40000"),
        Call("rows", {"count": 6000}),
    ]
    for number, one in enumerate(large):
        steps += [client.shell(f"echo step {number}.{step}; date -u +%Y") for step in range(3)]
        steps.append(one)
    return steps


def messages(body: dict[str, Any]) -> list[Any]:
    """A request's messages without the client's own marks for the cache."""
    plain = json.loads(json.dumps(body["messages"]))
    for message in plain:
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        for block in message["content"]:
            block.pop("cache_control", None)
    return plain


def tokens(setup: Setup, client: Client, text: str) -> int:
    """The tokens of a text."""
    command = [str(setup.gateway), "--store", str(client.home / "counted"), "--tokenizer", "o200k_base"]
    command += ["put", "--json", "--max-tokens", "1"]
    ended = subprocess.run(
        command, input=text.encode(), env=client.env, capture_output=True, check=True
    )
    return json.loads(ended.stdout)["tokens"]


def measured(setup: Setup, verdict: Verdict, name: str, client: Client, model: Model) -> int:
    """Records what the model was sent; returns the tokens in all."""
    steps = [body for body in model.requests if body.get("tools")]
    verdict.equal(f"{name}: every step was made", len(model.shown()), 20)
    verdict.equal(f"{name}: requests", len(steps), 21)
    pairs = zip(steps, steps[1:])
    kept = [messages(new)[: len(old["messages"])] == messages(old) for old, new in pairs]
    verdict.check(f"{name}: each request begins with the one before", all(kept), kept)
    count = lambda value: tokens(setup, client, json.dumps(value, ensure_ascii=False))
    counts = [count(body) for body in steps]
    verdict.facts[f"{name}: tokens of the last request"] = counts[-1]
    verdict.facts[f"{name}: of these, messages"] = count(steps[-1]["messages"])
    verdict.facts[f"{name}: tokens of all requests"] = sum(counts)
    return sum(counts)


def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs the session with and without the hooks."""
    setup.only = "claude"
    totals = {}
    for name, hooks in (("without", False), ("with", True)):
        client = Client(setup, f"session-{name}", hooks)
        model = client.play(script(client))
        totals[name] = measured(setup, verdict, name, client, model)
    verdict.check("the model is sent less", totals["with"] < totals["without"], totals)


if __name__ == "__main__":
    common.run(scenario)
