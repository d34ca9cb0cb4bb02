"""Uses the library of the wheel, without any setting that names the program."""

import hashlib

import spillgate

text = "\n".join(str(number) for number in range(200_000))
gate = spillgate.Spillgate()
put = gate.put(text, tool="seq")
raw = gate.artifact(put.handle).raw()
assert hashlib.sha256(raw).digest() == hashlib.sha256(text.encode()).digest()
print(f"import spillgate: {len(raw)} bytes came back from {spillgate._process.find_program()}")
