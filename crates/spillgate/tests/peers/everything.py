"""server-everything with the Python `mcp` package: the client gets the same with and without the
gateway, in both directions."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio
import mcp_types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import common
from common import OUR_TOOLS, WAIT, Setup, Verdict
from identity import unwidened

LONG = "trigger-long-running-operation"

# The server writes the time of day into its dynamic resources.
CLOCK = re.compile(r"\d{1,2}:\d{2}:\d{2} [AP]M")

TOOL_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a small echo": ("echo", {"message": 'Grüße \\ "quoted" \u2028 \t 🎬'}),
    "a sum": ("get-sum", {"a": 1.5, "b": 2}),
    "an image": ("get-tiny-image", {}),
    "an annotated image": ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    "resource links": ("get-resource-links", {"count": 5}),
    "an embedded resource": ("get-resource-reference", {"resourceType": "Text", "resourceId": 2}),
    "structured content": ("get-structured-content", {"location": "Chicago"}),
    "a resource made by a tool": (
        "gzip-file-as-resource",
        {"name": "x.gz", "data": "data:text/plain,spillgate", "outputType": "resource"},
    ),
    "invalid arguments": ("get-sum", {"a": "one"}),
    "an unknown tool": ("no-such-tool", {}),
    "a request for roots": ("get-roots-list", {}),
    "a request for sampling": ("trigger-sampling-request", {"prompt": "Hi", "maxTokens": 5}),
    "a request for elicitation": ("trigger-elicitation-request", {}),
}


def plain(value: Any) -> Any:
    """A result as plain data, without what differs between two runs."""
    data = value.model_dump_json(by_alias=True, exclude_unset=True)
    return CLOCK.sub("<time>", data)


async def sample(_: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    """Answers the server's request for a model."""
    said = types.TextContent(type="text", text=f"heard {len(params.messages)}")
    return types.CreateMessageResult(role="assistant", content=said, model="scripted")


async def elicit(_: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Answers the server's request for a form."""
    fields = sorted(params.requested_schema["properties"])
    return types.ElicitResult(action="accept", content={"name": fields[0], "integer": len(fields)})


async def roots(_: Any) -> types.ListRootsResult:
    """Answers the server's request for the client's roots."""
    return types.ListRootsResult(roots=[types.Root(uri="file:///tmp", name="tmp")])


class Observer:
    """Runs everything against one command and records what a client sees."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}
        self.tools: list[types.Tool] = []
        self.logged: list[str] = []
        self.notified: list[str] = []

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Records a log message."""
        self.logged.append(plain(params))

    async def notice(self, message: Any) -> None:
        """Records any other notification."""
        self.notified.append(type(message).__name__)

    async def run(self, command: list[str]) -> None:
        """The whole tour, in one session."""
        server = StdioServerParameters(command=command[0], args=command[1:])
        async with (
            stdio_client(server) as streams,
            ClientSession(
                *streams,
                read_timeout_seconds=WAIT,
                sampling_callback=sample,
                elicitation_callback=elicit,
                list_roots_callback=roots,
                logging_callback=self.log,
                message_handler=self.notice,
            ) as session,
        ):
            self.seen["initialize"] = plain(await session.initialize())
            # The server asks for roots and adds tools some 350 ms after the handshake.
            with anyio.move_on_after(10):
                while not self.logged:
                    await anyio.sleep(0.05)
            self.seen["a log message"] = self.logged[:1]
            self.tools = (await session.list_tools()).tools
            await self.call_tools(session)
            await self.tour(session)
            await self.progress(session)
            await self.cancel(session)
            self.seen["notifications"] = sorted(set(self.notified))

    async def note(self, name: str, awaitable: Any) -> None:
        """Records a result, or the error instead of one."""
        try:
            self.seen[name] = plain(await awaitable)
        except Exception as error:  # A client also sees the kind of error.
            self.seen[name] = f"{type(error).__name__}: {error}"

    async def call_tools(self, session: ClientSession) -> None:
        """One call of each kind of tool."""
        for name, (tool, arguments) in TOOL_CALLS.items():
            await self.note(name, session.call_tool(tool, arguments))

    async def tour(self, session: ClientSession) -> None:
        """Everything that is not a tool."""
        await self.note("ping", session.send_ping())
        resources = await session.list_resources()
        self.seen["resources/list"] = plain(resources)
        for resource in resources.resources[:3]:
            await self.note(f"resources/read {resource.name}", session.read_resource(resource.uri))
        await self.note(
            "a dynamic resource", session.read_resource("demo://resource/dynamic/text/1")
        )
        await self.note("an unknown resource", session.read_resource("demo://nowhere"))
        await self.note("resources/templates/list", session.list_resource_templates())
        await self.note(
            "resources/subscribe", session.subscribe_resource(resources.resources[0].uri)
        )
        await self.note("prompts/list", session.list_prompts())
        city = {"city": "Łódź", "state": "Łódzkie"}
        await self.note("prompts/get", session.get_prompt("args-prompt", city))
        await self.note("a missing prompt argument", session.get_prompt("args-prompt", {}))
        prompt = types.PromptReference(type="ref/prompt", name="completable-prompt")
        part = {"name": "name", "value": "A"}
        known = {"department": "Engineering"}
        await self.note("completion/complete", session.complete(prompt, part, known))
        await self.note("logging/setLevel", session.set_logging_level("warning"))

    async def progress(self, session: ClientSession) -> None:
        """A slow call reports progress."""
        steps: list[tuple[float, float | None]] = []

        async def stepped(progress: float, total: float | None, _: str | None) -> None:
            steps.append((progress, total))

        arguments = {"duration": 1, "steps": 4}
        call = session.call_tool(LONG, arguments, progress_callback=stepped)
        await self.note("a slow call", call)
        self.seen["its progress"] = steps

    async def cancel(self, session: ClientSession) -> None:
        """A slow call is cancelled; the session continues."""
        with anyio.move_on_after(0.5) as scope:
            await session.call_tool(LONG, {"duration": 60, "steps": 60})
        self.seen["cancellation is quick"] = scope.cancelled_caught
        with anyio.fail_after(10):
            await self.note(
                "a call after cancellation", session.call_tool("echo", {"message": "on"})
            )


def unwrapped(tool: types.Tool) -> types.Tool:
    """Restores the upstream's tool from one whose output schema the gateway widened."""
    schema = tool.output_schema
    if not schema or "spillgate" not in str(schema):
        return tool
    return tool.model_copy(update={"output_schema": unwidened(schema)})


async def scenario(setup: Setup, verdict: Verdict) -> None:
    """Runs the tour twice and compares."""
    direct, relayed = Observer(), Observer()
    await direct.run(setup.direct())
    await relayed.run(setup.relayed())
    verdict.facts["direct"] = {name: str(value)[:200] for name, value in direct.seen.items()}
    for name, wanted in direct.seen.items():
        verdict.equal(name, relayed.seen.get(name), wanted)
    ours = [tool.name for tool in relayed.tools if tool.name in OUR_TOOLS]
    verdict.equal("our tools", ours, OUR_TOOLS if setup.gateway else [])
    # After restoring, the members of a schema are in a different order.
    theirs = [
        json.loads(plain(unwrapped(tool))) for tool in relayed.tools if tool.name not in OUR_TOOLS
    ]
    verdict.equal("tools/list", theirs, [json.loads(plain(tool)) for tool in direct.tools])
    # A comparison of two empty results would also pass.
    image = str(direct.seen["an image"])
    verdict.check("the comparison has substance", "image/png" in image, image)
    verdict.equal("progress came", direct.seen["its progress"], [(n, 4.0) for n in (1, 2, 3, 4)])


if __name__ == "__main__":
    common.run(scenario)
