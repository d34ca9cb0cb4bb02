"""Tests of the library itself, without any agent."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from pathlib import Path

from spillgate import ProgramNotFound, Spillgate, SpillgateError
from spillgate._client import LOOK_UP_TOOLS
from spillgate._process import find_program

from .scenario import ABSENT, NEEDLE, SMALL, Scenario, broken, report


class Core(Scenario):
    """`Spillgate` with the real program."""

    def test_what_fits_is_returned_as_it_is(self) -> None:
        """The very object, so nothing about it can change."""
        for content in ["", SMALL, "no line end", "a\r\nb\0c\x1b[31m", "\ud800 alone", b"", b"\xff\xfe\x00"]:
            self.assertIs(self.gate.offload(content, tool="t"), content)
            self.assertTrue(self.gate.put(content).fits)

    def test_what_is_stored_comes_back_byte_for_byte(self) -> None:
        """Texts and bytes of every kind."""
        cases: list[str | bytes] = [
            report(),
            "ü\r\n" * 50_000,
            "x" * 1_000_000,
            "\ud800" * 100_000,
            bytes(range(256)) * 2000,
            json.dumps([{"id": n, "name": f"row {n}"} for n in range(20_000)]),
        ]
        for content in cases:
            with self.subTest(content[:20]):
                put = self.gate.put(content, tool="t")
                raw = content if isinstance(content, bytes) else content.encode(errors="surrogatepass")
                assert put.text is not None and put.handle is not None
                self.assertLess(len(put.text), 10_000)
                self.assert_stored(put.text, raw)
                self.assertIsNone(put.error)

    def test_a_message_names_the_tool_and_the_look_up_tools(self) -> None:
        """The first line of a preview, and its arguments in the manifest."""
        put = self.gate.put(report(), tool="read_log", arguments={"file": "ü.log"})
        assert put.text is not None and put.handle is not None
        self.assertRegex(put.text, r"^\[spillgate\] read_log returned ")
        self.assertIn(f'spillgate_read(handle="{put.handle}"', put.text)
        command = self.gate.process.command(["show", "--json", put.handle])
        manifest = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        self.assertEqual(json.loads(manifest["arguments"]), {"file": "ü.log"})
        failed = self.gate.put(report(), tool="read_log", failed=True)
        assert failed.text is not None
        self.assertRegex(failed.text, r"^\[spillgate\] read_log failed with ")

    def test_arguments_that_no_variable_can_hold_are_left_out(self) -> None:
        """Hostile arguments of a call do not keep its output from being stored."""
        for arguments in ["a\0b", "x" * 200_000, {"n": object()}, "\ud800", ["ü" * 40_000]]:
            self.assertIsNotNone(self.gate.put(report(), arguments=arguments).handle)

    def test_an_artifact_answers_look_ups(self) -> None:
        """Each method of an artifact."""
        put = self.gate.put(report())
        artifact = self.gate.artifact(put.handle or "")
        self.assertEqual(artifact.read(start=10_501, lines=1)["text"], NEEDLE + "\n")
        self.assertEqual(artifact.read(tail=True, lines=1)["lines"], [21_000, 21_000])
        self.assertEqual(artifact.read(bytes="0..4")["text"], "2026")
        [match] = artifact.grep("error disk", ignore_case=True)["matches"]
        self.assertEqual((match["line"], match["text"]), (10_501, NEEDLE))
        self.assertEqual(artifact.grep("-- no", max_matches=1)["total"], 0)
        self.assertEqual(artifact.query('select(test("ERROR"))')["results"], 1)
        self.assertIn(NEEDLE, artifact.search("Which disk is full?")["passages"][0]["text"])
        self.assertEqual(artifact.outline()["kind"], "log")
        self.assertEqual(artifact.raw(), report().encode())

        async def run() -> None:
            self.assertEqual((await artifact.agrep("ERROR", max_matches=2))["total"], 1)
            self.assertEqual(await artifact.araw(), report().encode())
            self.assertEqual((await self.gate.aput(SMALL)).fits, True)

        asyncio.run(run())

    def test_errors_say_what_is_wrong_and_whose_fault_it_is(self) -> None:
        """An unknown handle, a wrong pattern, a missing file of settings."""
        with self.assertRaises(SpillgateError) as raised:
            self.gate.artifact("a" * 14).read()
        self.assertEqual((raised.exception.kind, raised.exception.fault), ("not_found", "caller"))
        with self.assertRaisesRegex(SpillgateError, "never stored"):
            self.gate.artifact("a" * 14).raw()
        put = self.gate.put(report())
        with self.assertRaisesRegex(SpillgateError, "(?i)regex|pattern"):
            self.gate.artifact(put.handle or "").grep("(")
        with self.assertRaisesRegex(SpillgateError, "nowhere.toml"):
            Spillgate(config=self.home / "nowhere.toml").put(SMALL)
        with self.assertRaises(ValueError):
            Spillgate(on_error="ignore")  # type: ignore[arg-type]

    def test_tools_are_those_of_the_gateway(self) -> None:
        """The definitions, calls, errors of calls, and a search of the session."""
        tools = {tool.name: tool for tool in self.gate.tools()}
        self.assertEqual(
            list(tools), ["spillgate_read", "spillgate_grep", "spillgate_query", "spillgate_search"]
        )
        self.assertEqual(tools["spillgate_grep"].input_schema["required"], ["handle", "pattern"])
        put = self.gate.put(report())
        found = tools["spillgate_grep"].call({"handle": put.handle, "pattern": "ERROR"})
        self.assertIn(NEEDLE, found)
        self.assertIn("`handle`", tools["spillgate_grep"].call({"pattern": "x"}))
        other = Spillgate(store=self.home / "store").put("ERROR elsewhere\n" * 20_000)
        found = tools["spillgate_search"].call({"words": "Which disk is full?"})
        self.assertIn(NEEDLE, found)
        self.assertNotIn(other.handle or "none", found)
        self.assertIn(NEEDLE, asyncio.run(tools["spillgate_grep"].acall({"handle": put.handle, "pattern": "ERROR"})))

    def test_limits_and_excluded_tools(self) -> None:
        """The options of the constructor, and the rules of a configuration."""
        text = "word " * 1500
        store = self.home / "store"
        self.assertIsNot(Spillgate(store=store, max_tokens=50).offload(text), text)
        self.assertIsNot(Spillgate(store=store, max_bytes=50, profile="handle").offload(text), text)
        gate = Spillgate(store=store, exclude=["read_file"])
        self.assertEqual(gate.offload(report(), tool="read_file"), report())
        names = {tool.name for tool in gate.tools()} | {"get_continuation", "tool_output"}
        self.assertEqual(names, LOOK_UP_TOOLS)
        for tool in names:
            self.assertEqual(gate.offload(report(), tool=f"mcp__spillgate__{tool}"), report())
        for tool in ["spillgate_dump", "mcp__x__spillgate_read_file", "x_spillgate_read"]:
            self.assertNotEqual(gate.offload(report(), tool=tool), report())
        config = self.home / "spillgate.toml"
        config.write_text("[tools.raw]\nmax_tokens = 0\nmax_bytes = 0\n")
        gate = Spillgate(store=store, config=config)
        self.assertEqual(gate.offload(report(), tool="raw"), report())
        self.assertNotEqual(gate.offload(report(), tool="other"), report())

    def test_errors_of_ours_let_the_output_pass(self) -> None:
        """No program, a program that hangs or prints nonsense, a store that cannot be written."""
        hangs, nonsense = (self.program(name, line) for name, line in [("a", "sleep 9"), ("b", "echo no")])
        blocked = self.home / "blocked"
        blocked.write_text("a file\n")
        for gate, what in [
            (broken(), "cargo install"),
            (Spillgate(program=hangs, timeout=0.3), "longer than 0.3 s"),
            (Spillgate(program=nonsense), "ended with code 0"),
            (Spillgate(program=self.program("c", "echo '{}'")), "another version"),
            (Spillgate(program=self.program("d", "echo '[]'")), "ended with code 0"),
            (Spillgate(store=blocked), "blocked"),
            (Spillgate(store="a\0b"), "cannot run"),
        ]:
            with self.subTest(what), self.assertLogs("spillgate", "DEBUG") as logged:
                for _ in range(2):
                    self.assertEqual(gate.offload(report()), report())
                self.assertEqual([one.levelname for one in logged.records], ["WARNING", "DEBUG"])
                self.assertIn(what, logged.output[0])
        for program in [hangs, nonsense, self.program("e", "echo '{}'"), self.program("f", "echo '[1]'")]:
            gate = Spillgate(program=program, timeout=0.3)
            with self.subTest(program), self.assertLogs("spillgate", "WARNING"):
                self.assertEqual(gate.tools(), [])
        with self.assertRaises(ProgramNotFound):
            Spillgate(program=ABSENT, on_error="raise").offload(report())

    def test_secrets_that_must_not_be_stored_are_not_shown(self) -> None:
        """The configuration refuses to store secrets: the output does not pass either."""
        config = self.home / "spillgate.toml"
        config.write_text('stored_secrets = "refused"\n')
        key = "AKIA" + "Q7ZX3M5N2P4R6T7V"
        text = report() + f"aws_access_key_id = {key}\n"
        gate = Spillgate(store=self.home / "store", config=config, on_error="raise")
        shown = gate.offload(text)
        self.assertNotEqual(shown, text)
        self.assertNotIn(key, shown)
        self.assertIsNone(gate.put(text).handle)

    def test_the_program_is_found(self) -> None:
        """`SPILLGATE_BIN`, then the search path; the error names the way to install it."""
        program = self.program("spillgate", "echo no")
        path, named = os.environ["PATH"], os.environ.pop("SPILLGATE_BIN", None)
        try:
            os.environ["PATH"] = str(program.parent)
            self.assertEqual(find_program(), str(program))
            os.environ["SPILLGATE_BIN"] = ABSENT
            with self.assertRaisesRegex(ProgramNotFound, "SPILLGATE_BIN is '.*/no-such-program'"):
                find_program()
        finally:
            os.environ["PATH"] = path
            os.environ.pop("SPILLGATE_BIN", None)
            if named is not None:
                os.environ["SPILLGATE_BIN"] = named

    def program(self, name: str, line: str) -> Path:
        """A program that runs one line of shell."""
        path = self.home / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path
