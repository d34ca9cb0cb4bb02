// What the tests share: the texts, an empty store, and the scripted model.

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { Spillgate, type SpillgateOptions } from "../src/index.ts";

/** The line that the model looks for; no preview shows it, because it is in the middle. */
export const NEEDLE = "2026-11-26T03:14:07Z ERROR disk /dev/sdq1 is 98 % full, écriture refusée";

export const SMALL = "all 17 disks are mounted\n";

/** Placeholder in a script for the handle that the model was shown last. */
export const HANDLE = "<handle>";

/** A log of more than 1 MB. */
export function report(): string {
  const line = (n: number) => `2026-11-26T03:00:00Z INFO request ${String(n).padStart(6, "0")} took ${(n * 7919) % 1000} ms`;
  const lines = Array.from({ length: 21_000 }, (_, n) => (n === 10_500 ? NEEDLE : line(n)));
  return `${lines.join("\n")}\n`;
}

// The user's own settings must not change the tests.
for (const name of Object.keys(process.env)) {
  if (name.startsWith("SPILLGATE_") && name !== "SPILLGATE_BIN") delete process.env[name];
}
export const home = mkdtempSync(join(tmpdir(), "spillgate-test-"));
process.env["HOME"] = home;
/** No program. `/nonexistent` is the home of Debian's daemons, and may exist. */
export const ABSENT = join(home, "no-such-program");
const started: ChildProcess[] = [];
after(() => {
  // A test that fails does not end its model.
  for (const child of started) child.kill();
  rmSync(home, { recursive: true });
});

let stores = 0;

/** A Spillgate with an empty store, which throws its errors. */
export function gate(options: SpillgateOptions = {}): Spillgate {
  return new Spillgate({ store: join(home, `store-${stores++}`), onError: "raise", ...options });
}

/** A Spillgate whose program does not exist. */
export function broken(): Spillgate {
  return new Spillgate({ program: ABSENT });
}

/** The handle that a preview names. */
export function handleOf(preview: string): string {
  return /stored whole as ([a-z]{14})\b/.exec(preview)?.[1] ?? "none";
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

interface Seen {
  // biome-ignore lint: bodies of requests
  requests: any[];
  refused: string[];
}

/** A scripted model. `end` ends it and returns what it was sent. */
export async function model(script: [string, object][]): Promise<{ url: string; end(): Promise<Seen> }> {
  const file = fileURLToPath(new URL("model.py", import.meta.url));
  const child = spawn("python3", [file, JSON.stringify(script)], { stdio: ["pipe", "pipe", "inherit"] });
  started.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const url = (await lines.next()).value as string;
  return {
    url,
    async end() {
      child.stdin.end();
      return JSON.parse((await lines.next()).value as string) as Seen;
    },
  };
}
