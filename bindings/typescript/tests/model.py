"""Runs the scripted model for a test in another language.

The script is the argument, as JSON: `[[tool, arguments], …]`. Prints the model's address, serves
until standard input ends, then prints the requests that came in, and the paths that were refused.
"""

import importlib.util
import json
import sys
from pathlib import Path

PEERS = Path(__file__).resolve().parents[3] / "crates/spillgate/tests/peers"

spec = importlib.util.spec_from_file_location("model", PEERS / "model.py")
module = importlib.util.module_from_spec(spec)
sys.modules["model"] = module
spec.loader.exec_module(module)

script = [module.Call(tool, arguments) for tool, arguments in json.loads(sys.argv[1])]
with module.Model(script) as model:
    print(model.url, flush=True)
    sys.stdin.read()
print(json.dumps({"requests": model.requests, "refused": model.refused}))
