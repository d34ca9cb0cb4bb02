"""The same requests to a real server, once directly and once through the gateway: every small reply
is the same, byte for byte. Raw frames are compared, because a client's types would hide differences."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
from common import OUR_TOOLS, Setup, Verdict, meant
from frames import Peer

# What a server generates differently in each run: ids, dates, times of day.
VARYING = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}"
    rb"|\d{4}-\d{2}-\d{2}T[\d:.]+Z|\d{1,2}:\d{2}:\d{2} [AP]M"
)

# What the gateway adds to an output schema that is a plain object.
WIDENED = re.compile(
    r',?"spillgate":\{"type":"string"\}'
    r'|"anyOf":\[\{("required":[^]]*\])\},\{"required":\["spillgate"\]\}\]'
)

# Unusual spellings of a client, which the gateway must pass on unchanged.
SPELLINGS = [
    b'{"jsonrpc":"2.0","id":"a b \\u00e4","method":"ping"}\n',
    b'{ "method" : "ping" , "id" : 9007199254740991, "jsonrpc" : "2.0" }\n',
    b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"echo","arguments":'
    b'{"message":"\\u0000\\u001f \\ud83d\\ude00 \\/ k\xc3\xa4se"}}}\n',
    b'{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":{"name":"get-sum","arguments":'
    b'{"a":1.0,"b":1e2},"_meta":{"x":1.0,"progressToken":3},"unknown":[1.0]}}\n',
    b'{"jsonrpc":"2.0","id":21,"method":"no/such","params":{}}\n',
    b'{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"no-such-tool"}}\r\n',
    b'{"jsonrpc":"2.0","id":24,"method":"tools/call","params":{"name":"simulate-research-query",'
    b'"arguments":{"topic":"spills"},"task":{"ttl":1000}}}\n',
]


def requests(work: Path) -> dict[str, tuple[str, Any]]:
    """The requests, the same for every server: a server answers those it does not support with an error."""
    files = work / "files"
    files.mkdir(exist_ok=True)
    (files / "small.txt").write_text('Käse\ttab "quoted" \\n no newline\r\nsecond\n', "utf-8")
    (files / "pixel.png").write_bytes(bytes(range(256)))
    at = {"path": str(files / "small.txt")}
    calls = {
        "echo": {"message": "Grüße \u2028 🎬"},
        "get-tiny-image": {},
        "get-annotated-message": {"messageType": "debug", "includeImage": True},
        "get-env": {},
        "get-resource-links": {"count": 10},
        "get-resource-reference": {"resourceType": "Text", "resourceId": 3},
        "get-structured-content": {"location": "New York"},
        "get-sum": {"a": "not a number"},
        "trigger-long-running-operation": {"duration": 0.2, "steps": 2},
        "read_text_file": at,
        "read_media_file": {"path": str(files / "pixel.png")},
        "list_directory": {"path": str(files)},
        "directory_tree": {"path": str(files)},
        "read_multiple_files": {"paths": [at["path"], str(files / "missing")]},
        "list_allowed_directories": {},
    }
    corpus: dict[str, tuple[str, Any]] = {
        f"call {tool}": ("tools/call", {"name": tool, "arguments": arguments})
        for tool, arguments in calls.items()
    }
    first = "demo://resource/static/document/features.md"
    prompt = {"type": "ref/prompt", "name": "completable-prompt"}
    argument = {"name": "department", "value": "S"}
    return corpus | {
        "ping": ("ping", {}),
        "resources/list": ("resources/list", {}),
        "resources/read": ("resources/read", {"uri": first}),
        "resources/templates/list": ("resources/templates/list", {}),
        "prompts/list": ("prompts/list", {}),
        "prompts/get": ("prompts/get", {"name": "resource-prompt", "arguments": {}}),
        "completion": ("completion/complete", {"ref": prompt, "argument": argument}),
        "tasks/list": ("tasks/list", {}),
        "server/discover": ("server/discover", {"_meta": {}}),
    }


@dataclass
class Recording:
    """One run of the corpus."""

    # Reply lines by the name of their request.
    replies: dict[str, bytes]
    others: list[bytes]
    # None if the process did not end by itself.
    code: int | None


def record(command: list[str], work: Path, errors: Path, patience: float) -> Recording:
    """Runs the corpus; then the process has `patience` seconds to end by itself."""
    replies: dict[str, bytes] = {}
    # Few and unusual variables: a server shows them, and a failure's text contains them.
    env = {"PATH": os.environ["PATH"], "HOME": str(work), "ODD": 'Käse "x"\n\ty'}
    with Peer(command, errors, env) as peer:
        replies["initialize"] = peer.handshake().raw
        # Servers announce their tools again soon after the handshake.
        peer.quiet(1.0)
        for number, (name, (method, params)) in enumerate(requests(work).items()):
            replies[name] = peer.request(100 + number, method, params).raw
        for spelling in SPELLINGS:
            peer.send(spelling)
            replies[f"spelling {spelling!r}"] = peer.reply(json.loads(spelling)["id"]).raw
        replies["tools/list"] = peer.request(3, "tools/list").raw
        peer.quiet(0.5)
        code = peer.close(patience)
    return Recording(replies, [line.raw for line in peer.others], code)


def stable(raw: bytes | None) -> bytes:
    """Masks what varies from run to run in a line."""
    return VARYING.sub(b"<varying>", raw or b"<no reply>")


def elements(line: bytes) -> list[str]:
    """The raw text of each tool in a reply to tools/list."""
    text = line.decode()
    at, decoder, found = text.index('"tools":[') + len('"tools":['), json.JSONDecoder(), []
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = end + (text[end] == ",")
    return found


def compare_tools(verdict: Verdict, direct: bytes, relayed: bytes, gated: bool) -> None:
    """The list has the upstream's tools, byte for byte, then ours. Only the value of
    `outputSchema` may differ, and then it contains the original spelling."""
    theirs, all_of_them = elements(direct), elements(relayed)
    ours = [json.loads(tool)["name"] for tool in all_of_them[len(theirs) :]]
    verdict.equal("tools/list: our tools last", ours, OUR_TOOLS if gated else [])
    for wanted, got in zip(theirs, all_of_them):
        tool = json.loads(wanted)
        name = f"tools/list: {tool['name']}"
        if not gated or "outputSchema" not in tool:
            verdict.equal(name, got, wanted)
            continue
        schema = spelled(wanted, "outputSchema")
        head, _, tail = wanted.partition(f'"outputSchema":{schema}')
        verdict.check(
            f"{name}: around the schema", got.startswith(head) and got.endswith(tail), got
        )
        shown = unwidened(json.loads(got)["outputSchema"])
        verdict.equal(f"{name}: the original schema", shown, tool["outputSchema"])
        bare = WIDENED.sub(r"\1", spelled(got, "outputSchema"))
        verdict.check(f"{name}: spelled as it was", schema in bare, got)
    around = stable(relayed).partition(b'"tools":[')[0]
    verdict.equal("tools/list: before the tools", around, stable(direct).partition(b'"tools":[')[0])
    after = direct.decode().partition(theirs[-1])[2]
    verdict.check("tools/list: after the tools", relayed.decode().endswith(after), after)


def unwidened(schema: dict[str, Any]) -> dict[str, Any]:
    """Restores the server's output schema from one that the gateway widened: a plain object got one
    more property, any other schema is an alternative to the envelope."""
    if "spillgate" not in schema.get("properties", {}):
        return schema["anyOf"][0]
    own = {key: value for key, value in schema.items() if key != "anyOf"}
    own["properties"] = {k: v for k, v in schema["properties"].items() if k != "spillgate"}
    return own | (schema["anyOf"][0] if "anyOf" in schema else {})


def spelled(text: str, key: str) -> str:
    """The raw text of a key's value in a compact JSON object."""
    at = text.index(f'"{key}":') + len(key) + 3
    return text[at : json.JSONDecoder().raw_decode(text, at)[1]]


def scenario(setup: Setup, verdict: Verdict) -> None:
    """Records both runs and compares them."""
    work, gated = setup.work, setup.gateway is not None
    # server-everything runs for minutes once it has created a task: do not wait for it.
    direct = record(setup.direct(), work, work / "direct.txt", patience=1)
    relayed = record(setup.relayed(), work, work / "relayed.txt", patience=20 if gated else 1)
    verdict.check("the gateway ends, its server too or not", relayed.code is not None or not gated)
    wanted, got = direct.replies, relayed.replies
    compare_tools(verdict, wanted.pop("tools/list"), got.pop("tools/list"), gated)
    for name, reply in wanted.items():
        verdict.equal(name, stable(meant(got.get(name, b""), reply)), stable(reply))
    lines = set(map(stable, relayed.others))
    verdict.equal("other lines", lines, set(map(stable, direct.others)))
    exact = [name for name, reply in wanted.items() if got.get(name) == reply]
    verdict.check("nearly all are the same to the byte", len(exact) >= len(wanted) - 4, exact)
    results = [name for name, reply in wanted.items() if b'"result"' in reply]
    verdict.check("most are results", len(results) >= len(wanted) // 3, results)
    verdict.facts["replies"], verdict.facts["exact"] = len(wanted), len(exact)


if __name__ == "__main__":
    common.run(scenario)
