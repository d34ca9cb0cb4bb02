#!/usr/bin/env node
// The command `spillgate` of the npm package: runs the program of the package for this system.

import { spawn } from "node:child_process";
import { constants } from "node:os";

import { packaged, PLATFORM_PACKAGE } from "./packaged.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const program = packaged();
const words = process.argv.slice(2);
if (program === undefined) {
  console.error(`error: the package ${PLATFORM_PACKAGE} with the program for this system is not installed
hint: install without --omit=optional; if the package does not exist, run \`cargo install spillgate\``);
  process.exitCode = 127;
} else if (typeof process.execve === "function") {
  // The program takes the place of this process, so that a server does not keep Node in memory.
  process.removeAllListeners("warning");
  process.execve(program, [program, ...words], process.env);
} else {
  const child = spawn(program, words, { stdio: "inherit" });
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`error: ${program} cannot run: ${error.message}`);
    process.exitCode = 126;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal ?? "SIGTERM"];
  });
}
