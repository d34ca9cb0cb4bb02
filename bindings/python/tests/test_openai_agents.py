"""Tests with the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    OpenAIResponsesModel,
    Runner,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI
from spillgate.openai_agents import with_spillgate

from .scenario import NEEDLE, SCRIPT, SMALL, Call, Model, Scenario, broken, report

set_tracing_disabled(True)

IMAGE = "data:image/png;base64,iVBORw0KGgo="

# An MCP server with the two tools of the scenario. Its errors are results.
SERVER = """
import sys
sys.path.insert(0, {root!r})
from mcp.server import MCPServer
from tests.scenario import SMALL, report
server = MCPServer("files")
server.tool(name="report", structured_output=False)(lambda: report())
server.tool(name="small", structured_output=False)(lambda: SMALL)
@server.tool()
def rows() -> dict[str, list[int]]:
    return {{"rows": list(range(90_000))}}
server.run()
"""


@function_tool(name_override="report")
def report_tool() -> str:
    """Returns the log."""
    return report()


@function_tool(name_override="small")
async def small_tool() -> str:
    """Returns the state of the disks."""
    return SMALL


class OpenAIAgents(Scenario):
    """An agent with offloaded tools."""

    def agent(self, model: Model, **more: Any) -> Agent[Any]:
        """An agent whose model is the scripted one."""
        client = AsyncOpenAI(base_url=f"{model.url}/v1", api_key="none")
        chat = OpenAIResponsesModel(model="gpt-5.9", openai_client=client)
        return Agent(name="a", model=chat, **more)

    def run_agent(self, agent: Agent[Any]) -> str:
        """Runs the agent and returns its answer."""
        return str(asyncio.run(Runner.run(agent, "Is a disk full?")).final_output)

    def test_function_tools(self) -> None:
        """The whole scenario."""
        model = self.model()
        agent = self.agent(model, tools=[report_tool, small_tool])
        self.assertEqual(self.run_agent(with_spillgate(agent, self.gate)), model.answer)
        self.assert_seen(model)
        self.assertEqual(agent.tools, [report_tool, small_tool])

    def test_tools_of_mcp_servers(self) -> None:
        """The whole scenario, with the tools of a server."""
        model = self.model([*SCRIPT, Call("rows", {})])
        server = self.home / "server.py"
        root = str(Path(__file__).parents[1])
        server.write_text(SERVER.format(root=root))

        async def run() -> None:
            params: Any = {"command": sys.executable, "args": [str(server)]}
            async with MCPServerStdio(params, use_structured_content=True, client_session_timeout_seconds=60) as mcp:
                await Runner.run(with_spillgate(self.agent(model, mcp_servers=[mcp]), self.gate), "Is a disk full?")

        asyncio.run(run())
        rows = model.shown().pop()
        self.assertRegex(rows, r"^\[spillgate\] rows returned [\d,]+ bytes, 1 lines?, .*\(json\)")
        for body in model.requests:
            body["input"] = [one for one in body["input"] if one.get("call_id") != "call_3"]
        self.assert_seen(model)

    def test_images_and_objects(self) -> None:
        """Parts that are no text stay; what the SDK turns into a text is offloaded."""

        @function_tool
        def parts() -> list[Any]:
            """Returns parts."""
            return [ToolOutputText(text=report()), ToolOutputImage(image_url=IMAGE), {"type": "text", "text": "b"}]

        @function_tool
        def rows() -> Any:
            """Returns an object."""
            return [{"id": n} for n in range(30_000)]

        @function_tool
        def one() -> Any:
            """Returns one part."""
            return ToolOutputText(text=report())

        model = self.model([Call("parts", {}), Call("rows", {}), Call("one", {})])
        self.run_agent(with_spillgate(self.agent(model, tools=[parts, rows, one]), self.gate))
        [outputs] = [
            [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
            for body in model.requests[-1:]
        ]
        text, image = outputs[0]
        self.assertEqual(image["image_url"], IMAGE)
        self.assert_stored(text["text"], report() + "\nb")
        self.assert_stored(outputs[1], str([{"id": n} for n in range(30_000)]))
        self.assert_stored(outputs[2][0]["text"], report())

    def test_an_agent_works_without_the_program(self) -> None:
        """Spillgate is not installed: the output passes, and one warning is logged."""
        model = self.model([Call("report", {}), Call("report", {})])
        with self.assertLogs("spillgate", logging.WARNING) as logged:
            self.run_agent(with_spillgate(self.agent(model, tools=[report_tool]), broken()))
        self.assertEqual(len(logged.output), 1, logged.output)
        self.assertEqual(model.shown(), [report(), report()])
        self.assertIn(NEEDLE, model.shown()[0])

    def test_a_tool_keeps_all_its_other_properties(self) -> None:
        """Only the function that runs the tool differs."""
        agent: Agent[Any] = with_spillgate(Agent(name="a", tools=[report_tool]), self.gate, lookups=False)
        [tool] = agent.tools
        assert isinstance(tool, FunctionTool)
        without = {name: value for name, value in vars(tool).items() if name != "on_invoke_tool"}
        self.assertEqual(without, {name: value for name, value in vars(report_tool).items() if name in without})
