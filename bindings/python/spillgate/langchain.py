"""Middleware for LangChain agents: large outputs of tools become previews.

    agent = create_agent(model, tools, middleware=[SpillgateMiddleware(Spillgate())])
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command

from ._client import Spillgate, Tool

__all__ = ["SpillgateMiddleware"]

Result = ToolMessage | Command[Any]


class SpillgateMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Offloads the text of each tool's output, and gives the agent the look-up tools.

    Parts that are no text, and the `artifact` of a message, stay as they are. Without `spillgate`,
    `Spillgate()` is used; `lookups=False` gives the agent no tools, if it has them already.
    """

    def __init__(self, spillgate: Spillgate | None = None, *, lookups: bool = True) -> None:
        super().__init__()
        self.spillgate = spillgate if spillgate is not None else Spillgate()
        self.tools: list[BaseTool] = [_tool(tool) for tool in self.spillgate.tools()] if lookups else []

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]
    ) -> Result:
        """Runs a tool and offloads its output."""
        return self._offloaded(request, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Runs a tool and offloads its output, without blocking the event loop."""
        return await asyncio.to_thread(self._offloaded, request, await handler(request))

    def _offloaded(self, request: ToolCallRequest, result: Result) -> Result:
        if isinstance(result, ToolMessage):
            return self._message(request, result)
        update = result.update
        if not isinstance(update, dict) or not isinstance(update.get("messages"), list):
            return result
        messages = [
            self._message(request, one) if isinstance(one, ToolMessage) else one
            for one in update["messages"]
        ]
        return replace(result, update={**update, "messages": messages})

    def _message(self, request: ToolCallRequest, message: ToolMessage) -> ToolMessage:
        tool, arguments = request.tool_call["name"], request.tool_call["args"]
        failed = message.status == "error"
        content: Any = message.content
        shown: Any
        if isinstance(content, str):
            shown = self.spillgate.offload(content, tool=tool, arguments=arguments, failed=failed)
        else:
            shown = self.spillgate.offload_parts(
                content, _text, _part, tool=tool, arguments=arguments, failed=failed
            )
        return message if shown is content else message.model_copy(update={"content": shown})


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _part(text: str) -> str | dict[str, Any]:
    return {"type": "text", "text": text}


def _tool(tool: Tool) -> BaseTool:
    def call(**arguments: Any) -> str:
        return tool.call(arguments)

    async def acall(**arguments: Any) -> str:
        return await tool.acall(arguments)

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.input_schema,
        func=call,
        coroutine=acall,
    )
