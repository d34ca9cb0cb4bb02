"""A coding agent with the guarded tools: a scripted model tells it to request too much, and then
less, as the refusals advise. The checks are about what the model was shown.

`--only claude` is Claude Code, `--only codex` Codex CLI, whose own limits differ: the server of each
refuses what its client would cut.
"""

from __future__ import annotations

import agents
from common import Setup, Verdict, run
from model import Call, Model

LINES = 4000

# Most tokens of an answer that the client passes on whole.
LIMIT = {"claude": 25_000, "codex": 2_500}

# Lines of a page just below that limit; a line has 75 bytes.
PAGE = {"claude": 1_200, "codex": 120}


def line(number: int) -> str:
    """A line of the large file."""
    return f"{number:07} INFO worker-{number % 16:02} processed batch {number * 7919:010} without an error"


def scenario(setup: Setup, verdict: Verdict) -> None:
    """Requests too much from each tool, then less."""
    agents.CODEX_SANDBOX = "danger-full-access"
    root = setup.work / "root"
    root.mkdir(parents=True)
    (root / "large.log").write_text("".join(f"{line(n)}\n" for n in range(LINES)))
    page = PAGE[setup.only]
    script = [
        Call("read_file", {"file_path": "large.log"}),
        Call("read_file", {"file_path": "large.log", "offset": 1000, "limit": page}),
        Call("grep_content", {"pattern": "worker", "path": "large.log"}),
        Call("grep_content", {"pattern": "worker", "path": "large.log", "max_results": 3}),
        Call("execute_shell", {"command": "cat large.log"}),
        Call("execute_shell", {"command": "cat large.log | tail -n 1"}),
        Call("glob_files", {"pattern": "**/*.log"}),
        Call("read_file", {"file_path": "/etc/passwd"}),
    ]
    limit = LIMIT[setup.only]
    server = [str(setup.gateway), "tools", "--root", str(root), "--max-tokens", str(limit)]
    with Model(script) as model:
        ended = agents.play(setup, server, model, "guarded")
        shown = model.shown()
        verdict.facts["bytes shown"] = [len(text.encode()) for text in shown]
        verdict.check("the agent ends well", ended["code"] == 0, ended["tail"])
        verdict.check("every step was made", len(shown) == len(script), ended["tail"])
        if len(shown) != len(script):
            return
        file, part, many, few, all_of_it, last, names, outside = shown
        refused = f"exceeds maximum allowed tokens ({limit}). Please use offset and limit"
        verdict.check("a file that is too large is refused", refused in file, file)
        whole = "\n".join(line(n) for n in range(1000, 1000 + page))
        verdict.check("a page arrives whole", whole in part, part)
        verdict.check("too many matches are refused", "tokens of matches. Please use" in many, many)
        some = all(line(n) in few for n in range(3)) and line(3) not in few
        verdict.check("a few matches arrive", some, few)
        told = "exceeds maximum allowed. Please pipe output through head/tail/grep" in all_of_it
        verdict.check("an output that is too large is refused", told, all_of_it)
        verdict.check("its end arrives", line(LINES - 1) in last, last)
        verdict.check("names arrive", "large.log" in names, names)
        verdict.check("nothing outside is read", "root:" not in outside, outside)


if __name__ == "__main__":
    run(scenario)
