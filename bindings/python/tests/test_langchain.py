"""Tests of the middleware with LangChain's agents."""

from __future__ import annotations

import asyncio
import base64
import logging
from typing import Any

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langgraph.types import Command
from spillgate.langchain import SpillgateMiddleware

from .scenario import NEEDLE, SMALL, Call, Model, Scenario, broken, report

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@tool("report")
def report_tool() -> str:
    """Returns the log."""
    return report()


@tool("small")
def small_tool() -> str:
    """Returns the state of the disks."""
    return SMALL


def chat(model: Model) -> ChatAnthropic:
    """The client of the scripted model."""
    return ChatAnthropic(
        model_name="claude-opus-4-8", base_url=model.url, api_key="none", timeout=60, stop=None
    )


class LangChain(Scenario):
    """An agent with the middleware."""

    def run_agent(self, model: Model, tools: list[Any], middleware: SpillgateMiddleware) -> list[Any]:
        """Runs an agent and returns its messages."""
        agent = create_agent(chat(model), tools, middleware=[middleware])
        state = agent.invoke({"messages": [("user", "Is a disk full?")]})
        return list(state["messages"])

    def test_the_model_gets_a_preview_and_looks_into_the_rest(self) -> None:
        """The whole scenario, in a thread."""
        model = self.model()
        messages = self.run_agent(model, [report_tool, small_tool], SpillgateMiddleware(self.gate))
        self.assert_seen(model)
        self.assertEqual(messages[-1].text, model.answer)

    def test_the_same_in_an_event_loop(self) -> None:
        """The whole scenario with `ainvoke`."""
        model = self.model()

        async def run() -> None:
            agent = create_agent(
                chat(model), [report_tool, small_tool], middleware=[SpillgateMiddleware(self.gate)]
            )
            await agent.ainvoke({"messages": [("user", "Is a disk full?")]})

        asyncio.run(run())
        self.assert_seen(model)

    def test_parts_without_text_and_artifacts_stay(self) -> None:
        """A tool returns texts, an image and an artifact."""
        image = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}

        @tool("parts", response_format="content_and_artifact")
        def parts() -> tuple[list[Any], dict[str, int]]:
            """Returns parts."""
            return [{"type": "text", "text": report()}, image, {"type": "text", "text": "and a text"}], {"rows": 21_000}

        messages = self.run_agent(self.model([Call("parts", {})]), [parts], SpillgateMiddleware(self.gate))
        answer = next(one for one in messages if isinstance(one, ToolMessage))
        self.assertEqual(answer.artifact, {"rows": 21_000})
        preview, other = answer.content
        self.assertEqual(other, image)
        self.assert_stored(preview["text"], report() + "\nand a text")

    def test_messages_of_commands_are_offloaded(self) -> None:
        """A tool returns a command that updates the agent's state."""

        @tool("command")
        def command() -> Command[Any]:
            """Returns a command."""
            return Command(update={"messages": [ToolMessage(report(), tool_call_id="toolu_0000")]})

        model = self.model([Call("command", {})])
        self.run_agent(model, [command], SpillgateMiddleware(self.gate))
        self.assert_stored(model.shown()[0], report())

    def test_errors_of_tools_are_offloaded_as_errors(self) -> None:
        """A tool fails with a large message."""

        @tool("failing")
        def failing() -> str:
            """Fails."""
            raise ToolException(report())

        failing.handle_tool_error = True
        model = self.model([Call("failing", {})])
        messages = self.run_agent(model, [failing], SpillgateMiddleware(self.gate))
        self.assertRegex(model.shown()[0], r"^\[spillgate\] failing failed with [\d,]+ bytes")
        answer = next(one for one in messages if isinstance(one, ToolMessage))
        self.assertEqual(answer.status, "error")

    def test_an_agent_works_without_the_program(self) -> None:
        """Spillgate is not installed: the output passes, and one warning is logged."""
        model = self.model([Call("report", {}), Call("report", {})])
        with self.assertLogs("spillgate", logging.WARNING) as logged:
            self.run_agent(model, [report_tool], SpillgateMiddleware(broken()))
        self.assertEqual(len(logged.output), 1, logged.output)
        self.assertIn("cargo install", logged.output[0])
        self.assertEqual(model.shown(), [report(), report()])
        self.assertIn(NEEDLE, model.shown()[0])
