"""The clients whose hooks are tested: how each is started, configured and permitted, and what its
hooks receive.

Each runs without the caller's environment, in a home of its own, with proxies that lead nowhere: it
reaches the scripted model and nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents import PATIENCE, PROMPT, environment, quiet
from common import Setup
from model import Call, Model

# A permission rule for `touch`: what it says about the command; "none" is no rule.
RULES = ["allow", "ask", "deny", "none"]


@dataclass(frozen=True)
class Kind:
    """A client."""

    # The name on our command line, and that of the shell's tool.
    name: str
    shell: str
    # The file that `wrap --hooks` writes, below the home.
    settings: str
    # Writes the configuration of a home: the home, the command of an MCP server, and a rule.
    configure: Callable[[Path, list[str], str], None]
    # The client's command, and the additional environment.
    start: Callable[[Setup, Path, Model, str], tuple[list[str], dict[str, str]]]
    # The argument of the shell's tool that holds the command, and other arguments.
    argument: str = "command"
    others: tuple[tuple[str, Any], ...] = ()
    # Whether the hook is told the exit code of a command.
    tells_exit: bool = True
    # What the hook gets of an output of a command.
    received: Callable[[bytes], bytes] = lambda output: output
    # Whether the hook gets only a part of a large output.
    cuts: bool = False
    # The time limit of a hook in the settings, and a shorter one for tests.
    limit: tuple[str, str] = ('"timeout": 60', '"timeout": 2')


def write(path: Path, value: Any) -> None:
    """Writes a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def servers(server: list[str], **more: Any) -> dict[str, Any]:
    """The table of servers of most clients."""
    return {"shelf": {"command": server[0], "args": server[1:]} | more}


def configure_claude(home: Path, server: list[str], rule: str) -> None:
    """Claude Code's settings and servers."""
    permissions = {} if rule in ("none", "") else {rule: ["Bash(touch *)"]}
    write(home / ".claude/settings.json", {"permissions": permissions})
    write(home / ".claude.json", {"mcpServers": servers(server)})


def start_claude(setup: Setup, home: Path, model: Model, rule: str) -> tuple[list[str], dict[str, str]]:
    """Claude Code."""
    wrapper = setup.peers / "agents/node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs"
    command = [str(setup.peers / "bin/node"), str(wrapper), "-p", PROMPT, "--output-format", "json"]
    if not rule:
        command += ["--permission-mode", "bypassPermissions"]
    # The client refuses to run as root without permissions, except in a sandbox.
    return command, quiet(model) | {"IS_SANDBOX": "1"}


def configure_codex(home: Path, server: list[str], rule: str) -> None:
    """Codex's configuration, without the URL of the model."""
    decisions = {"allow": "allow", "ask": "prompt", "deny": "forbidden"}
    if rule in decisions:
        rules = home / ".codex/rules/default.rules"
        rules.parent.mkdir(parents=True)
        rules.write_text(f'prefix_rule(pattern=["touch"], decision="{decisions[rule]}")\n')
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/config.toml").write_text(
        'model = "scripted"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
        f'sandbox_mode = "{"read-only" if rule == "none" else "danger-full-access"}"\n'
        '[model_providers.scripted]\nname = "scripted"\nenv_key = "MODEL_KEY"\nwire_api = "responses"\n'
        f"[mcp_servers.shelf]\ncommand = {json.dumps(server[0])}\nargs = {json.dumps(server[1:])}\n"
    )


def start_codex(setup: Setup, home: Path, model: Model, rule: str) -> tuple[list[str], dict[str, str]]:
    """Codex. Nobody is there to trust the hook."""
    launcher = setup.peers / "agents/node_modules/@openai/codex/bin/codex.js"
    command = [str(setup.peers / "bin/node"), str(launcher), "exec", "--skip-git-repo-check"]
    command += ["--dangerously-bypass-hook-trust", "--json"]
    command += ["-c", f"model_providers.scripted.base_url={json.dumps(model.url + '/v1')}", PROMPT]
    return command, {"CODEX_HOME": str(home / ".codex"), "MODEL_KEY": "none"}


def configure_gemini(home: Path, server: list[str], rule: str) -> None:
    """Gemini CLI's settings."""
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        "mcpServers": servers(server, trust=True),
    }
    if rule == "deny":
        settings["tools"] = {"exclude": ["run_shell_command(touch)"]}
    if rule == "allow":
        settings["tools"] = {"allowed": ["run_shell_command(touch)"]}
    write(home / ".gemini/settings.json", settings)


def start_gemini(setup: Setup, home: Path, model: Model, rule: str) -> tuple[list[str], dict[str, str]]:
    """Gemini CLI."""
    script = setup.peers / "doors/node_modules/@google/gemini-cli/bundle/gemini.js"
    command = [str(setup.peers / "bin/node"), str(script), "-m", "gemini-2.5-flash", "-p", PROMPT]
    command += ["--output-format", "json", *([] if rule else ["-y"])]
    env = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.url}
    return command, env | {"GEMINI_CLI_TRUST_WORKSPACE": "true"}


def configure_opencode(home: Path, server: list[str], rule: str) -> None:
    """opencode's configuration. The URL of the model is in the environment."""
    provider = {"options": {"baseURL": "{env:MODEL_URL}/v1", "apiKey": "none"}}
    provider["models"] = {"claude-sonnet-4-5": {"limit": {"context": 200_000, "output": 8000}}}
    config = {
        "model": "anthropic/claude-sonnet-4-5",
        "share": "disabled",
        "provider": {"anthropic": provider},
        "permission": {"bash": {"*": "allow"} if rule in ("", "none") else {"touch *": rule}},
        "mcp": {"shelf": {"type": "local", "command": server}},
    }
    write(home / ".config/opencode/opencode.json", config)
    # opencode waits for a package that it wants for plugins, and would try again for 70 seconds.
    (home / ".npmrc").write_text("fetch-retries=0\n")


def start_opencode(setup: Setup, home: Path, model: Model, rule: str) -> tuple[list[str], dict[str, str]]:
    """opencode."""
    names = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"]
    program = setup.peers / "doors/node_modules/opencode-linux-x64/bin/opencode"
    env = {f"OPENCODE_DISABLE_{name}": "1" for name in names} | {"MODEL_URL": model.url}
    return [str(program), "run", "--format", "json", PROMPT], env


def configure_copilot(home: Path, server: list[str], rule: str) -> None:
    """Copilot CLI's servers."""
    table = servers(server, type="local", tools=["*"])
    write(home / ".copilot/mcp-config.json", {"mcpServers": table})


def start_copilot(setup: Setup, home: Path, model: Model, rule: str) -> tuple[list[str], dict[str, str]]:
    """Copilot CLI, with a model that is not GitHub's."""
    program = setup.peers / "doors/node_modules/@github/copilot-linux-x64/copilot"
    flags = {
        "": ["--allow-all-tools", "--allow-all-paths"],
        "allow": ["--allow-tool", "shell(touch)"],
        "deny": ["--allow-all-tools", "--deny-tool", "shell(touch)"],
    }
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    env = {
        "COPILOT_PROVIDER_BASE_URL": model.url,
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "claude-sonnet-4.5",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "TMPDIR": str(temporary),
    }
    return [str(program), "-p", PROMPT, *flags.get(rule, [])], env


DESCRIBED = (("description", "as told"),)
KINDS = {
    "claude": Kind(
        "claude-code", "Bash", ".claude/settings.json", configure_claude, start_claude
    ),
    "codex": Kind(
        "codex",
        "exec_command",
        ".codex/hooks.json",
        configure_codex,
        start_codex,
        argument="cmd",
        tells_exit=False,
        cuts=True,
    ),
    "gemini": Kind(
        "gemini",
        "run_shell_command",
        ".gemini/settings.json",
        configure_gemini,
        start_gemini,
        received=lambda output: output.rstrip(b"\n"),
        limit=('"timeout": 60000', '"timeout": 2000'),
    ),
    "opencode": Kind(
        "opencode",
        "bash",
        ".config/opencode/plugins/spillgate.js",
        configure_opencode,
        start_opencode,
        others=DESCRIBED,
        limit=("60_000", "2_000"),
    ),
    "copilot": Kind(
        "copilot",
        "bash",
        ".copilot/hooks/spillgate.json",
        configure_copilot,
        start_copilot,
        others=DESCRIBED,
        limit=('"timeoutSec": 60', '"timeoutSec": 2'),
    ),
}


class Client:
    """A home of the client, with or without the hooks."""

    def __init__(self, setup: Setup, name: str, hooks: bool, rule: str = "") -> None:
        self.setup = setup
        self.kind = KINDS[setup.only]
        self.rule = rule
        self.home = setup.work / f"home-{name}"
        self.settings = self.home / self.kind.settings
        (self.home / "work").mkdir(parents=True)
        self.env = environment(self.home, setup.peers)
        if setup.only == "codex":
            self.env["CODEX_HOME"] = str(self.home / ".codex")
        self.kind.configure(self.home, setup.server, rule)
        if hooks:
            self.spillgate("wrap", self.kind.name, "--hooks")

    def spillgate(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        """Runs our command line."""
        command = [str(self.setup.gateway), "--store", str(self.setup.store), *args]
        work = self.home / "work"
        return subprocess.run(command, cwd=work, env=self.env, capture_output=True, check=False)

    def shell(self, command: str, **more: Any) -> Call:
        """A call of the client's shell."""
        return Call(self.kind.shell, {self.kind.argument: command, **dict(self.kind.others), **more})

    def play(self, script: list[Call], answer: str = "done as told") -> Model:
        """Runs the client with a model that makes these calls; returns the model."""
        with Model(script, answer=answer) as model:
            command, more = self.kind.start(self.setup, self.home, model, self.rule)
            ended = subprocess.run(
                command,
                cwd=self.home / "work",
                env=self.env | more,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        text = ended.stdout + b"\n" + ended.stderr
        (self.home / f"said-{len(os.listdir(self.home))}.txt").write_bytes(text)
        return model
