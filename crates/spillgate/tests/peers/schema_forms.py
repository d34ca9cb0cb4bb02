"""Prints a table of what clients accept in place of a large result of a tool with an output schema.

This is not a test: it asserts nothing and runs no gateway. `shelf_server.py --form FORM` plays what a
gateway could advertise and answer; ADR 9 has the table and the decision. To measure again:

    python schema_forms.py --peers .peers --store X --work /tmp/new-directory -- python shelf_server.py
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import common
import shelf_server as shelf
from agents import AGENTS, environment, play
from clients import CLIENTS
from common import Setup, Verdict
from model import Call, Model

CALL = Call("rows", {"count": 1})


async def with_sdk(setup: Setup, command: list[str], name: str) -> str:
    """What a caller of an SDK's client gets."""
    try:
        async with CLIENTS[name](command, setup.peers) as face:
            listed = await face.tools()
            refused = next((tool["refused"] for tool in listed if "refused" in tool), None)
            if refused:
                return f"list refused: {refused}"
            note = await face.call("note", {})
            if note.get("structuredContent") != shelf.NOTE:
                return f"the other tool is lost: {note}"
            return told(await face.call(CALL.tool, CALL.arguments))
    except Exception as error:  # In some clients a refused list ends the session.
        return f"session lost: {error!r}"


def told(result: dict[str, Any]) -> str:
    """A result in a few words."""
    if "refused" in result:
        return f"refused: {result['refused']}"
    content = json.dumps(result.get("structuredContent"))
    return ("error; " if result.get("isError") else "") + f"taken; structured {content[:40]}"


def with_agent(setup: Setup, command: list[str], name: str, form: str) -> str:
    """What an agent's model is shown."""
    setup.only = name
    with Model([Call("note", {}), CALL]) as model:
        ended = play(setup, command, model, f"{form}-{name}")
        shown = model.shown()
        listed = [tool for tool in ("note", "rows") if any(t.endswith(tool) for t in model.tools())]
        if len(shown) < 2:
            return f"listed {listed}, shown {shown}, ended {ended['code']}: {ended['tail'][-300:]}"
        return f"shown {shown[1]}"


def with_inspector(setup: Setup, command: list[str], strict: bool) -> str:
    """What the inspector's command line prints."""
    config = setup.work / "inspector.json"
    entry = {"command": command[0], "args": command[1:]}
    config.write_text(json.dumps({"mcpServers": {"shelf": entry}}))
    program = [setup.peers / "bin/node", setup.peers / "node/node_modules/.bin/mcp-inspector"]
    call = ["--cli", "--server", "shelf", "--config", config, "--method", "tools/call"]
    call += ["--tool-name", "rows", "--tool-arg", "count=1", *(["--strict"] if strict else [])]
    done = subprocess.run(
        [*program, *call],
        env=environment(setup.work, setup.peers) | {"MCP_INSPECTOR_SECRET_STORE": "memory"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return f"ended {done.returncode}: {(done.stdout + done.stderr)[-300:]}"
    return told(json.loads(done.stdout))


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """Tries every form with every client; the rows are facts of the verdict."""
    for form in shelf.FORMS:
        command = [*setup.server, "--form", form]
        row = {name: await with_sdk(setup, command, name) for name in CLIENTS}
        row["inspector"] = with_inspector(setup, command, strict=False)
        row["inspector --strict"] = with_inspector(setup, command, strict=True)
        row |= {name: with_agent(setup, command, name, form) for name in AGENTS}
        verdict.facts[form] = row


if __name__ == "__main__":
    common.run(scenario)
