"""What the tests of all agents share: their tools, the model's script, and what the model must see.

The model is that of the peer tests (crates/spillgate/tests/peers/model.py): a server on this
machine that records all requests. Its script calls a tool with a large output, looks into the
output, and calls a tool with a small output.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from spillgate import Spillgate

ROOT = Path(__file__).resolve().parents[3]


def load_model() -> Any:
    """The module with the scripted model. Its directory has modules with the names of packages."""
    path = ROOT / "crates/spillgate/tests/peers/model.py"
    spec = importlib.util.spec_from_file_location("scripted_model", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


model = load_model()
HANDLE, HANDLES, Call, Model = model.HANDLE, model.HANDLES, model.Call, model.Model

# No program. It is in a directory of these tests: `/nonexistent` is the home of Debian's daemons,
# and may exist.
ABSENT = str(Path(__file__).with_name("no-such-program"))

# The line that the model looks for; no preview shows it, because it is in the middle.
NEEDLE = "2026-11-26T03:14:07Z ERROR disk /dev/sdq1 is 98 % full, écriture refusée"

SMALL = "all 17 disks are mounted\n"


def report() -> str:
    """A log of more than 1 MB."""
    lines = [f"2026-11-26T03:00:00Z INFO request {n:06d} took {n * 7919 % 1000} ms" for n in range(21_000)]
    lines[10_500] = NEEDLE
    return "\n".join(lines) + "\n"


SCRIPT = [
    Call("report", {}),
    Call("spillgate_grep", {"handle": HANDLE, "pattern": "ERROR disk"}),
    Call("small", {}),
]


class Scenario(unittest.TestCase):
    """A test with a scripted model and an empty store."""

    def setUp(self) -> None:
        for name in [name for name in os.environ if name.startswith("SPILLGATE_")]:
            if name != "SPILLGATE_BIN":
                self.addCleanup(os.environ.__setitem__, name, os.environ.pop(name))
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = Path(home.name)
        # The user's configuration must not change the tests.
        before = os.environ.get("HOME", "")
        os.environ["HOME"] = home.name
        self.addCleanup(os.environ.__setitem__, "HOME", before)
        self.gate = Spillgate(store=self.home / "store", on_error="raise")

    def model(self, script: list[Call] | None = None) -> Model:
        """A model that plays the script while the test runs."""
        model = Model(SCRIPT if script is None else script)
        model.__enter__()
        self.addCleanup(model.__exit__)
        return model

    def assert_seen(self, model: Model, text: str | None = None) -> None:
        """Checks what the model was sent while it played `SCRIPT`."""
        text = report() if text is None else text
        self.assertEqual(model.refused, [])
        shown = model.shown()
        self.assertEqual(len(shown), 3, shown)
        preview, found, small = shown
        self.assertRegex(preview, r"^\[spillgate\] \S*report returned [\d,]+ bytes")
        self.assertIn('spillgate_grep', preview)
        self.assertLess(len(preview), 10_000)
        before = [json.dumps(body, ensure_ascii=False) for body in model.requests if body]
        self.assertNotIn(NEEDLE, before[0] + before[1])
        self.assertIn(NEEDLE, found)
        self.assertEqual(small, SMALL)
        self.assert_stored(preview, text)
        for tool in self.gate.tools():
            self.assertTrue(any(name.endswith(tool.name) for name in model.tools()), tool.name)

    def assert_stored(self, preview: str, text: str | bytes) -> None:
        """Checks that the output which the preview names is stored byte for byte."""
        handle = HANDLES.findall(preview)[-1]
        raw = self.gate.artifact(handle).raw()
        expected = text if isinstance(text, bytes) else text.encode()
        self.assertEqual(hashlib.sha256(raw).hexdigest(), hashlib.sha256(expected).hexdigest())


def broken() -> Spillgate:
    """A Spillgate whose program does not exist."""
    return Spillgate(program=ABSENT)
