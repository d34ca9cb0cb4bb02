"""Tests of the forms on replies as small models really write them."""

import itertools
import json
import unittest

import forms

READ = {"type": "function", "function": {"name": "Read", "description": "Lines of a file", "parameters": {
    "type": "object", "properties": {"file": {"type": "string"}, "end": {"type": "string", "enum": ["head", "tail"]}}}}}
SLOT = '<ai-agent-0a1b-FINAL format="text">'
QUESTION = {"role": "user", "content": "Which code?"}
SYSTEM = {"role": "system", "content": f"Answer in {SLOT}."}
CALL = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": '{"file": "a"}'}}]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "1 E42"}
HANDLE = "session-" + "-".join(["0a1b2c3d", "0a1b", "0a1b", "0a1b", "0a1b2c3d4e5f"])
HANDLE = f"{HANDLE}/{HANDLE.removeprefix('session-')}"


def reply(text):
    message = {"role": "assistant", "content": text}
    return {"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {}}


def calls_in(text):
    message = forms.with_calls(reply(text), [READ], itertools.count(1))["choices"][0]["message"]
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message.get("tool_calls", [])]


class Forms(unittest.TestCase):
    def test_calls_are_found_in_text(self):
        cases = {
            '{"name": "Read", "arguments": {"file": "a"}}': [("Read", {"file": "a"})],
            '```json\n{"name": "Read", "arguments": {}}\n``` and {"name": "Read"}': [("Read", {}), ("Read", {})],
            '<tool_call>{"name": "Read", "arguments": {"file": "{"}}</tool_call>': [("Read", {"file": "{"})],
            '{"name": "Erase", "arguments": {}}': [],
            'a { b {"name": "Rea': [],
            SLOT + '{"name": "Read", "arguments": {}}': [],
        }
        for text, calls in cases.items():
            self.assertEqual(calls_in(text), calls, text)

    def test_a_held_request_asks_for_a_call_then_for_the_slot(self):
        asked = {"messages": [SYSTEM, QUESTION], "tools": [READ], "stream": True}
        first = forms.prepared(asked, False, "held")
        schema = first["response_format"]["json_schema"]["schema"]["anyOf"][0]
        self.assertEqual(schema["properties"]["name"], {"const": "Read"})
        self.assertEqual(schema["properties"]["arguments"]["properties"]["file"]["maxLength"], forms.CALL_CHARS)
        self.assertFalse(first["stream"])
        asked["messages"] += [CALL, RESULT]
        second = forms.prepared(asked, False, "held")
        self.assertNotIn("response_format", second)
        self.assertIn("<ai-agent-0a1b-FINAL", second["grammar"])

    def agents_turn(self, *said):
        """The request of an agent whose task lists a call of Read and one of tool_output."""
        def tool(name, *keys):
            properties = {key: {"type": "string"} for key in keys}
            parameters = {"type": "object", "properties": properties, "required": list(keys[:2])}
            return {"type": "function", "function": {"name": name, "parameters": parameters}}
        tools = [READ, tool("tool_output", "handle", "extract", "mode"), tool(forms.REPORT, "report_content")]
        task = 'Look.\n{"name": "Read", "arguments": {"file": "a"}}\n{"name": "tool_output", "arguments": {"mode": "auto"}}'
        return {"messages": [SYSTEM, {"role": "user", "content": task}, *said], "tools": tools}

    def test_an_agent_is_held_to_the_calls_of_its_task_then_to_the_slot(self):
        def arguments(asked):
            schema = forms.prepared(asked, False, "held")["response_format"]["json_schema"]["schema"]
            return schema["properties"]["name"]["const"], schema["properties"]["arguments"]["properties"]
        self.assertEqual(arguments(self.agents_turn()), ("Read", {"file": {"const": "a"}}))
        stored = {**RESULT, "content": f'Call tool_output(handle = "{HANDLE}")'}
        name, held = arguments(self.agents_turn(CALL, stored))
        self.assertEqual((name, held["handle"], held["mode"]), ("tool_output", {"const": HANDLE}, {"const": "auto"}))
        self.assertEqual(held["extract"], {"type": "string", "pattern": forms.OWN_WORDS})
        self.assertIn("FINAL", forms.prepared(self.agents_turn(CALL, stored, CALL, RESULT), False, "held")["grammar"])
        self.assertNotIn("response_format", forms.prepared(self.agents_turn(), False, "free"))

    def test_a_call_that_is_not_offered_is_not_held_to(self):
        last = self.agents_turn(CALL, RESULT)
        last["tools"] = [tool for tool in last["tools"] if tool["function"]["name"] == forms.REPORT]
        self.assertIn("FINAL", forms.prepared(last, False, "held")["grammar"])
        extraction = self.agents_turn()
        extraction["tools"] = [READ]
        held = forms.prepared(extraction, False, "held")["response_format"]["json_schema"]["schema"]
        self.assertIn("anyOf", held, "the task of an extraction is data")

    def test_only_the_system_prompt_names_the_slot(self):
        asked = {"messages": [{"role": "system", "content": ""}, {"role": "user", "content": SLOT}]}
        self.assertNotIn("grammar", forms.prepared(asked, False, "held"))

    def test_only_a_sure_reply_has_an_answer_by_form(self):
        asked = {"messages": [SYSTEM]}
        sure = forms.prepared(asked, False, "sure")["grammar"]
        held = forms.prepared(asked, False, "held")["grammar"]
        self.assertIn("A-MO-Z", sure)
        self.assertNotIn("A-MO-Z", held)

    def test_a_template_without_tools_is_told_of_them_in_words(self):
        asked = {"messages": [SYSTEM, QUESTION, CALL, RESULT], "tools": [READ]}
        sent = forms.prepared(asked, False, "free")
        self.assertNotIn("tools", sent)
        self.assertEqual([message["role"] for message in sent["messages"]], ["system", "user", "assistant", "user"])
        self.assertIn("Read(file, end): Lines of a file", sent["messages"][0]["content"])
        self.assertEqual(forms.prepared(asked, True, "free")["tools"], [READ])

    def test_a_stream_has_all_of_the_reply(self):
        whole = forms.with_calls(reply('{"name": "Read", "arguments": {"file": "a.log"}}'), [READ], itertools.count(1))
        events = list(forms.events(whole, True))
        pieces = [call for event in events for choice in event["choices"] for call in choice["delta"].get("tool_calls", [])]
        arguments = "".join(piece["function"]["arguments"] for piece in pieces)
        self.assertEqual(json.loads(arguments), {"file": "a.log"})
        self.assertEqual([piece.get("id") for piece in pieces], ["call_1", None])
        self.assertEqual(events[-2]["choices"][0]["finish_reason"], "tool_calls")
        self.assertEqual(events[-1]["usage"], {})


if __name__ == "__main__":
    unittest.main()
