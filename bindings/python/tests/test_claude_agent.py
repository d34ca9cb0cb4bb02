"""Tests with the Claude Agent SDK and the Claude Code that it contains."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool
from spillgate import Spillgate
from spillgate.claude_agent import with_spillgate

from .scenario import HANDLE, NEEDLE, SMALL, Call, Model, Scenario, broken, report


def server() -> Any:
    """An MCP server in this process, with the tools of the scenario."""

    @tool("report", "Returns the log.", {})
    async def report_tool(_: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": report()}]}

    @tool("small", "Returns the state of the disks.", {})
    async def small_tool(_: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": SMALL}]}

    return create_sdk_mcp_server("files", tools=[report_tool, small_tool])


class ClaudeAgent(Scenario):
    """An agent with the hooks."""

    def run_agent(self, model: Model, gate: Spillgate, **more: Any) -> str:
        """Runs the agent and returns its answer."""
        work = self.home / "work"
        work.mkdir()
        env = {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": str(self.home / "claude"),
            "HOME": str(self.home),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        options = ClaudeAgentOptions(
            cwd=work, env=env, model="claude-opus-4-8", setting_sources=[], max_turns=9, **more
        )

        async def run() -> str:
            answer = ""
            async for message in query(prompt="Is a disk full?", options=with_spillgate(options, gate)):
                if isinstance(message, ResultMessage):
                    answer = message.result or ""
            return answer

        return asyncio.run(run())

    def test_tools_of_servers(self) -> None:
        """The whole scenario, with a server in this process."""
        model = self.model()
        allowed = ["mcp__files__report", "mcp__files__small"]
        answer = self.run_agent(model, self.gate, mcp_servers={"files": server()}, allowed_tools=allowed)
        self.assertEqual(answer, model.answer)
        self.assert_seen(model)

    def test_commands_that_succeed_and_that_fail(self) -> None:
        """The shell prints a large output, then a large output and fails, then a small one."""
        log = self.home / "log"
        log.write_text(report())
        found = Call("spillgate_grep", {"handle": HANDLE, "pattern": "ERROR disk"})
        calls = [f"cat {log}", f"cat {log}; exit 3", f"head -n 1 {log}"]
        script = [step for line in calls for step in (Call("Bash", {"command": line}), found)]
        model = self.model(script)
        self.run_agent(model, self.gate, allowed_tools=["Bash"])
        shown = model.shown()
        self.assertEqual(len(shown), 6, shown)
        self.assert_stored(shown[0], report())
        self.assertIn("spillgate_grep(", shown[0])
        self.assertIn(NEEDLE, shown[1])
        self.assertIn("exit code 3", shown[2].lower())
        self.assert_stored(shown[2], report())
        self.assertIn("spillgate_grep(", shown[2])
        self.assertIn(NEEDLE, shown[3])
        self.assertEqual(shown[4], report().splitlines()[0])

    def test_an_agent_works_without_the_program(self) -> None:
        """Spillgate is not installed: the output passes, and one warning is logged."""
        model = self.model([Call("Bash", {"command": "seq 4000"})])
        with self.assertLogs("spillgate", logging.WARNING) as logged:
            self.run_agent(model, broken(), allowed_tools=["Bash"])
        self.assertEqual(len(logged.output), 1, logged.output)
        self.assertEqual(model.shown(), ["\n".join(map(str, range(1, 4001)))])

    def test_options_are_kept(self) -> None:
        """Hooks, servers, permissions and settings of the user stay."""
        options = ClaudeAgentOptions(allowed_tools=["Read"], settings="mine.json", mcp_servers="servers.json")
        changed = with_spillgate(options, self.gate)
        self.assertEqual((changed.settings, changed.mcp_servers), ("mine.json", "servers.json"))
        self.assertEqual(changed.allowed_tools, ["Read"])
        self.assertIsNone(options.hooks)
        more = with_spillgate(with_spillgate(ClaudeAgentOptions(allowed_tools=["Read"]), self.gate), self.gate)
        self.assertEqual(more.allowed_tools[0], "Read")
        self.assertEqual(len((more.hooks or {})["PostToolUse"]), 2)
