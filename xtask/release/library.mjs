// Uses the library of the npm package, without any setting that names the program.

import assert from "node:assert/strict";

import { Spillgate } from "spillgate";

const text = Array.from({ length: 200_000 }, (_, number) => number).join("\n");
const gate = new Spillgate();
const put = await gate.put(text, { tool: "seq" });
const raw = await gate.artifact(put.handle).raw();
assert.equal(Buffer.from(raw).toString(), text);
console.log(`import "spillgate": ${raw.length} bytes came back`);
