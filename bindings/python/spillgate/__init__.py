"""Keeps oversized tool outputs out of a language model's context and loses none of them.

`Spillgate.offload` returns an output that fits unchanged. A larger one is stored byte for byte, and
a short preview is returned, which names the look-up tools of `Spillgate.tools`. The modules
`spillgate.langchain`, `spillgate.openai_agents` and `spillgate.claude_agent` do both for an agent.
"""

from ._client import Artifact, Put, Spillgate, Tool
from ._errors import ProgramNotFound, SpillgateError
from ._pages import Matches, Outline, Page, Passages, Results

__all__ = [
    "Artifact",
    "Matches",
    "Outline",
    "Page",
    "Passages",
    "ProgramNotFound",
    "Put",
    "Results",
    "Spillgate",
    "SpillgateError",
    "Tool",
]
