"""Runs the examples of docs/libraries.md as they stand, with the scripted model."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from spillgate import Spillgate

from .scenario import HANDLE, NEEDLE, ROOT, Call, Model, Scenario, report


def example(word: str) -> str:
    """The example that contains a word."""
    text = (ROOT / "docs/libraries.md").read_text()
    [found] = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if word in block]
    return str(found)


class Example(Scenario):
    """One example, in a process of its own and with the default store."""

    def run_example(self, word: str, model: Model | None = None) -> str:
        """Runs the example and returns what it prints."""
        (self.home / "server.log").write_text(report())
        url = model.url if model is not None else "http://127.0.0.1:9"
        env = os.environ | {
            "PYTHONPATH": str(ROOT / "bindings/python"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_MODEL": "claude-opus-4-8",
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "CLAUDE_CONFIG_DIR": str(self.home / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        command = [sys.executable, "-c", example(word)]
        done = subprocess.run(command, cwd=self.home, env=env, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def run_agent(self, word: str, tool: str, arguments: dict[str, str]) -> None:
        """Runs the example of an agent and checks what its model was sent."""
        found = Call("spillgate_grep", {"handle": HANDLE, "pattern": "ERROR"})
        model = self.model([Call(tool, arguments), found])
        self.assertIn(model.answer, self.run_example(word, model))
        preview, line = model.shown()
        self.assertIn(f"{tool} returned", preview.replace("ended: exit code 0", "returned"))
        self.assertIn(NEEDLE, line)
        self.gate = Spillgate(store=self.home / "state/spillgate")
        self.assert_stored(preview, report())


class Plain(Example):
    """The example without a framework."""

    def test_plain(self) -> None:
        """The preview, a search of the session, and the lines of a pattern."""
        printed = self.run_example("definitions =")
        self.assertTrue(printed.startswith("[spillgate] read_log returned "), printed)
        self.assertEqual(printed.count(NEEDLE[21:]), 3, printed)


class Agents(Example):
    """The examples with frameworks."""

    def test_langchain(self) -> None:
        """LangChain agents."""
        self.run_agent("create_agent", "read_log", {"path": "server.log"})

    def test_openai_agents(self) -> None:
        """The OpenAI Agents SDK."""
        self.run_agent("openai_agents", "read_log", {"path": "server.log"})

    def test_claude_agent(self) -> None:
        """The Claude Agent SDK."""
        self.run_agent("claude_agent", "Bash", {"command": "cat server.log"})
