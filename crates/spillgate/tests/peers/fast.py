"""FastMCP's own client and server, generations 4 and 3: the typed `data` of fourteen return types is
the same through the gateway; for a large result it is our preview, never empty."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import common
from common import Setup, Verdict

PEER = str(Path(__file__).with_name("fast_peer.py"))


async def asked(search: str, server: list[str]) -> dict[str, Any]:
    """The output of the client of this search path for a server."""
    env = os.environ | {"PYTHONPATH": search}
    process = await asyncio.create_subprocess_exec(
        sys.executable, PEER, "ask", *server, env=env, stdout=asyncio.subprocess.PIPE, limit=1 << 26
    )
    out, _ = await process.communicate()
    return json.loads(out.splitlines()[-1])


def without_ours(data: Any) -> Any:
    """Removes the field that the gateway adds to a model, if it is empty."""
    if isinstance(data, dict) and data.get("spillgate", "") is None:
        return {key: value for key, value in data.items() if key != "spillgate"}
    return data


def is_preview(said: dict[str, Any]) -> bool:
    """Whether the data is our preview object."""
    data = said.get("data")
    shown = data.get("spillgate") if isinstance(data, dict) else None
    return isinstance(shown, str) and common.preview(shown) is not None


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs both generations, each with a server of its own."""
    for name, search in (("4", ""), ("3", str(setup.peers / "fastmcp3"))):
        # Set for the server alone: the gateway passes its own environment on.
        server = ["env", f"PYTHONPATH={search}", sys.executable, PEER, "serve"]
        behind = Setup(setup.gateway, setup.store, setup.work, server)
        direct, through = await asyncio.gather(asked(search, server), asked(search, behind.relayed()))
        shown = 0
        for call, said in direct.items():
            got, what = through[call], f"FastMCP {name}, {call}"
            verdict.check(f"{what}: nothing is raised", "data" in got and "data" in said, got)
            if setup.gateway and len(json.dumps(said)) > 10_000:
                verdict.check(f"{what}: a preview", is_preview(got), got)
                shown += 1
            else:
                verdict.equal(f"{what}: the same", without_ours(got.get("data")), said.get("data"))
        if setup.gateway:
            verdict.equal(f"FastMCP {name}: previews", shown, 11)


if __name__ == "__main__":
    common.run(scenario)
