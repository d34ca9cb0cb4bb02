"""Gives a small model's reply the form that was asked for.

Read: JSON in its text that names an offered tool becomes a call of it. Small models write calls like this,
whatever their template says.

Held: a grammar constrains the reply to the form while the model writes it, as providers do for structured
output. The form is a call as long as no tool was called, then the final slot that the prompt names. The
content of the form is the model's own.

An agent's task may list calls. If held, the agent's turns are these calls, one a turn, then its report,
because no small model finds its way through tools. Listed arguments are used as they are, a handle is the
last one shown, and the model writes the other arguments.

Sure: held, and it may not answer that there is nothing; so every chunk has an answer to combine.
"""

import copy
import json
import re

# The final slot, as prompts name it.
SLOT = re.compile(r'<ai-agent-([A-Za-z0-9_-]+)-FINAL format="(?:text|markdown)">')
HANDLE = re.compile(r"session-[0-9a-f-]{36}/[0-9a-f-]{36}|(?<=stored whole as )[a-z]{14}\b")
# The tool that agents have and extractions do not.
REPORT = "agent__final_report"
# Most characters of a string in a call, and of a final text, that a grammar allows: without a limit
# small models continue until the token limit.
CALL_CHARS = 60
FINAL_CHARS = (20, 100)
# Pattern of an argument that the model writes in a listed call: words.
OWN_WORDS = "^[A-Za-z0-9][A-Za-z0-9 ,.:'()/_-]{19,79}$"


def prepared(asked, knows_tools, door):
    """The request as the model's server gets it; the door is the form, `held`, `sure` or another."""
    held = door in ("held", "sure")
    request = copy.deepcopy(asked)
    tools = request.get("tools") or []
    required = request.get("tool_choice") == "required"
    if tools:
        # A call in the text can only be recognized when the text is complete.
        request["stream"] = False
        request.pop("stream_options", None)
        if not knows_tools:
            request.pop("tools", None)
            request.pop("tool_choice", None)
            request["messages"] = plain(request["messages"], tools)
    if held and (step := step_of(asked["messages"], tools)):
        hold(request, step)
    elif tools and (required or held) and not has_results(asked["messages"]):
        hold(request, {"anyOf": [call_schema(tool) for tool in tools]})
    elif held and (slot := slot_of(asked["messages"])):
        # A grammar and tools exclude each other; the model has made its call.
        request.pop("tools", None)
        request.pop("tool_choice", None)
        request["messages"] = plain(asked["messages"], []) if tools else request["messages"]
        request["grammar"] = slot_grammar(slot, door == "sure")
    # The same question gets the same answer.
    request.setdefault("temperature", 0)
    request.setdefault("seed", 1)
    if "max_completion_tokens" not in request:
        request.setdefault("max_tokens", 256)
    return request


def hold(request, schema):
    """Constrains the reply to JSON of this schema."""
    request.pop("tools", None)
    request.pop("tool_choice", None)
    request["response_format"] = {"type": "json_schema", "json_schema": {"name": "call", "schema": schema}}


def step_of(messages, tools):
    """The form of an agent's next call, if its task lists it."""
    offered = {tool["function"]["name"]: tool["function"] for tool in tools}
    tasks = [text_of(message) for message in messages if message["role"] == "user"]
    if REPORT not in offered or not tasks:
        return None
    steps = [step for step in objects(tasks[0]) if "name" in step]
    turn = sum(bool(message.get("tool_calls")) for message in messages)
    if turn >= len(steps) or steps[turn]["name"] not in offered:
        return None
    function = offered[steps[turn]["name"]]
    schema = function.get("parameters") or {}
    properties = schema.get("properties") or {}
    said = dict(steps[turn].get("arguments") or {})
    handles = [handle for message in messages for handle in HANDLE.findall(text_of(message))]
    if "handle" in properties and handles:
        said.setdefault("handle", handles[-1])
    needed = list(dict.fromkeys([*(schema.get("required") or []), *said]))
    arguments = {key: {"const": said[key]} if key in said else in_own_words(properties[key]) for key in needed}
    return call_of(function["name"], closed(arguments))


def in_own_words(schema):
    is_text = schema.get("type") == "string" and not schema.keys() & {"enum", "const"}
    return {"type": "string", "pattern": OWN_WORDS} if is_text else schema


def without_calls(asked):
    """The request when no tool may be called any more: its tools only explain the calls that it has."""
    if asked.get("tool_choice") != "none":
        return asked
    request = {key: value for key, value in asked.items() if key not in ("tools", "tool_choice")}
    request["messages"] = plain(asked["messages"], [])
    return request


def has_results(messages):
    return any(message["role"] == "tool" for message in messages)


def slot_of(messages):
    """The final slot; only the system prompt can name it."""
    for message in messages:
        if message["role"] in ("system", "developer"):
            if found := SLOT.search(text_of(message)):
                return found
    return None


def slot_grammar(slot, sure):
    least, most = FINAL_CHARS
    # "NO RELEVANT DATA FOUND" cannot begin like this, in any spelling.
    first = '["0-9A-MO-Za-mo-z] ' if sure else ""
    opening = json.dumps(slot.group(0) + "\n")
    return f'root ::= {opening} {first}[^<]{{{least},{most}}} "\\n</ai-agent-{slot.group(1)}-FINAL>"'


def call_schema(tool):
    function = tool["function"]
    return call_of(function["name"], bounded(function.get("parameters") or {"type": "object"}))


def call_of(name, arguments):
    return closed({"name": {"const": name}, "arguments": arguments})


def closed(properties):
    """The schema of an object with exactly these members."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def bounded(schema):
    """The schema with a limit for every string."""
    if isinstance(schema, list):
        return [bounded(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: bounded(value) for key, value in schema.items()}
    if schema.get("type") == "string" and "enum" not in schema:
        schema["maxLength"] = min(schema.get("maxLength", CALL_CHARS), CALL_CHARS)
    return schema


def plain(messages, tools):
    """The conversation for a model whose template supports neither tools nor their results."""
    lines = []
    for tool in tools:
        function = tool["function"]
        names = ", ".join((function.get("parameters") or {}).get("properties") or {})
        lines.append(f'{function["name"]}({names}): {function.get("description", "")}')
    if lines:
        lines.insert(0, "Tools:")
        lines.append('To call one, reply only with {"name": ..., "arguments": {...}}.')
    told = []
    for message in messages:
        text = text_of(message)
        if message["role"] == "tool":
            told.append({"role": "user", "content": "Result:\n" + text})
        elif calls := message.get("tool_calls"):
            told.append({"role": "assistant", "content": "\n".join([text, *map(written, calls)]).strip()})
        else:
            told.append({"role": message["role"], "content": text})
    if lines and told and told[0]["role"] == "system":
        told[0]["content"] += "\n\n" + "\n".join(lines)
    elif lines:
        told.insert(0, {"role": "system", "content": "\n".join(lines)})
    return told


def text_of(message):
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def written(call):
    function = call["function"]
    return f'{{"name": {json.dumps(function["name"])}, "arguments": {function["arguments"] or "{}"}}}'


def with_calls(reply, tools, number):
    """The reply with the calls in its text as tool calls; `number` numbers their ids."""
    choice = reply["choices"][0]
    message = choice["message"]
    text = message.get("content") or ""
    # A final text may quote a call.
    if message.get("tool_calls") or SLOT.match(text):
        return reply
    names = [tool["function"]["name"] for tool in tools]
    calls = [found for found in objects(text) if found.get("name") in names]
    if calls:
        message["content"] = None
        message["tool_calls"] = [
            {
                "id": f"call_{next(number)}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call.get("arguments", {}))},
            }
            for call in calls
        ]
        choice["finish_reason"] = "tool_calls"
    return reply


def objects(text):
    """The outermost JSON objects in a text."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            if isinstance(found, dict):
                yield found
        at = text.find("{", end)


def events(reply, with_usage):
    """The reply as the chunks of a stream, each text and each call in two pieces."""
    base = {key: reply[key] for key in ("id", "created", "model") if key in reply}
    base["object"] = "chat.completion.chunk"
    choice = reply["choices"][0]
    message = choice["message"]

    def chunk(delta, reason=None):
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": None})
    if text := message.get("content"):
        for piece in halves(text):
            yield chunk({"content": piece})
    for index, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        first, second = halves(function["arguments"])
        begun = {**call, "index": index, "function": {**function, "arguments": first}}
        yield chunk({"tool_calls": [begun]})
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": second}}]})
    yield chunk({}, choice["finish_reason"])
    if with_usage:
        yield {**base, "choices": [], "usage": reply.get("usage")}


def halves(text):
    middle = len(text) // 2
    return text[:middle], text[middle:]
