// Runs the program `spillgate`: one process for each request, which takes a few milliseconds.
//
// `Transport` is all that the rest of the library knows about the program.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

import { type Fault, ProgramNotFound, SpillgateError } from "./errors.ts";
import { packaged } from "./packaged.ts";

/** The variable that names the program. */
const PROGRAM = "SPILLGATE_BIN";

/** The variable that passes a call's arguments on. Unlike an argument, other users cannot read it. */
const ARGUMENTS = "SPILLGATE_CALL_ARGUMENTS";

/** Maximum bytes of a call's arguments. A system passes on at most 128 KiB in a variable. */
const LARGEST_ARGUMENTS = 64 << 10;

const INSTALL = `\`npm install spillgate\` installs it for this system if there is a package for it; otherwise run \`cargo install spillgate\` or set ${PROGRAM}`;

/** The value of an option; without a value the option is left out. */
export type Option = string | number | boolean | undefined;

/** What the program says about an output (`spillgate put --json`). */
export interface Told {
  handle: string | null;
  reason: string | null;
  text?: string;
  sha256?: string | null;
  bytes?: number;
  tokens?: number;
  error?: { message: string };
}

/** A definition of a look-up tool, as in MCP's `tools/list`. */
export interface Definition {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}

/** What the library asks of Spillgate. Each method throws `SpillgateError`. */
export interface Transport {
  /** Stores an output if it is too large. */
  put(content: Uint8Array, tool: string, call: string | undefined, failed: boolean): Promise<Told>;
  /** Looks into an output with one of the commands; the words are its arguments. */
  look(command: string, words: string[], options: Record<string, Option>): Promise<unknown>;
  /** All bytes of an output, as they came in. */
  raw(handle: string): Promise<Uint8Array>;
  /** The definitions of the look-up tools. */
  definitions(): Promise<Definition[]>;
  /** Calls a look-up tool; an error is a text, too. `session` lists handles to search. */
  call(tool: string, input: string, session: string[]): Promise<string>;
}

/** The path of the program: `SPILLGATE_BIN`, the one of this package, or one on the search path. */
export function findProgram(): string {
  const named = process.env[PROGRAM];
  if (named) {
    if (isProgram(named)) return named;
    throw new ProgramNotFound(`${PROGRAM} is '${named}', which is no program`, { hint: INSTALL });
  }
  const own = packaged();
  if (own !== undefined) return own;
  const places = (process.env["PATH"] ?? "").split(delimiter).filter(Boolean);
  const found = places.map((place) => join(place, "spillgate")).find(isProgram);
  if (found === undefined) throw new ProgramNotFound("the program `spillgate` was not found", { hint: INSTALL });
  return found;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

interface Done {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

/** Answers requests with a process each. */
export class Process implements Transport {
  readonly #program: string | undefined;
  readonly #common: string[];
  readonly #limits: string[];
  readonly #timeoutMs: number;

  constructor(options: {
    program: string | undefined;
    common: Record<string, Option>;
    limits: Record<string, Option>;
    timeoutMs: number;
  }) {
    this.#program = options.program;
    this.#common = flags(options.common);
    this.#limits = flags(options.limits);
    this.#timeoutMs = options.timeoutMs;
  }

  async put(content: Uint8Array, tool: string, call: string | undefined, failed: boolean): Promise<Told> {
    const words = ["put", "--json", "--if-large", "--lookups", `--tool=${tool.replaceAll("\0", "")}`, ...this.#limits];
    const more: Record<string, string> = {};
    // A variable that cannot be passed on would keep the process from starting.
    if (call !== undefined && !call.includes("\0") && Buffer.byteLength(call) <= LARGEST_ARGUMENTS) {
      words.push(`--arguments-env=${ARGUMENTS}`);
      more[ARGUMENTS] = call;
    }
    if (failed) words.push("--failed");
    return checked<Told>(await this.#json(words, content, more), "handle");
  }

  async look(command: string, words: string[], options: Record<string, Option>): Promise<unknown> {
    return this.#json([command, "--json", ...flags(options), "--", ...words]);
  }

  async raw(handle: string): Promise<Uint8Array> {
    const done = await this.#run(["cat", "--raw", "--", handle]);
    if (done.code !== 0) throw told(done);
    return done.stdout;
  }

  async definitions(): Promise<Definition[]> {
    const done = await this.#run(["tools", "--lookups", "--list", "--json"]);
    if (done.code !== 0) throw errorOf(done);
    const lines = done.stdout.toString().split("\n").filter(Boolean);
    try {
      return lines.map((line) => checked<Definition>(JSON.parse(line), "inputSchema"));
    } catch (cause) {
      throw new SpillgateError("the program does not list its tools", { cause });
    }
  }

  async call(tool: string, input: string, session: string[]): Promise<string> {
    const words = ["tools", "--lookups", "--json", `--call=${tool}`, "-"];
    if (session.length > 0) words.push(`--session=${session.join(",")}`);
    return checked<{ text: string }>(await this.#json(words, Buffer.from(input)), "text").text;
  }

  async #json(words: string[], stdin?: Uint8Array, more?: Record<string, string>): Promise<unknown> {
    const done = await this.#run(words, stdin, more);
    let answer: unknown;
    try {
      answer = JSON.parse(done.stdout.toString());
    } catch {
      throw told(done);
    }
    // An output that could not be stored is an answer with an error.
    if (typeof answer !== "object" || answer === null || ("error" in answer && !("text" in answer))) throw errorOf(done);
    return answer;
  }

  #run(words: string[], stdin: Uint8Array = Buffer.alloc(0), more: Record<string, string> = {}): Promise<Done> {
    return new Promise((resolve, reject) => {
      const program = this.#program ?? findProgram();
      const child = started(program, [...this.#common, ...words], { ...process.env, ...more });
      const stdout: Buffer[] = [];
      const stderr: Buffer[] = [];
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        reject(new SpillgateError(`\`spillgate ${words[0]}\` took longer than ${this.#timeoutMs} ms`));
      }, this.#timeoutMs);
      child.stdout.on("data", (piece: Buffer) => stdout.push(piece));
      child.stderr.on("data", (piece: Buffer) => stderr.push(piece));
      child.on("error", (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        const what = `\`spillgate ${words[0]}\` cannot run: ${error.message}`;
        const isMissing = error.code === "ENOENT";
        reject(isMissing ? new ProgramNotFound(`${program}: no such program`, { hint: INSTALL }) : new SpillgateError(what));
      });
      child.on("close", (code) => {
        clearTimeout(timer);
        resolve({ code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() });
      });
      // The program may end without reading all of its input.
      child.stdin.on("error", () => {});
      child.stdin.end(stdin);
    });
  }
}

/** Starts the program. Words that no process can be given are an error of ours, too. */
function started(program: string, words: string[], env: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams {
  try {
    return spawn(program, words, { env });
  } catch (cause) {
    throw new SpillgateError(`\`${program}\` cannot run: ${(cause as Error).message}`, { cause });
  }
}

/** The answer, if it is an object with this member: another version may print something else. */
function checked<Answer>(answer: unknown, needs: string): Answer {
  if (typeof answer === "object" && answer !== null && needs in answer) return answer as Answer;
  throw new SpillgateError(`the program's answer has no \`${needs}\`: it has another version`);
}

/** Options of a method as options of the command. */
function flags(options: Record<string, Option>): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return [value === true ? flag : `${flag}=${value}`];
  });
}

/** The error that the program printed as JSON. */
function errorOf(done: Done): SpillgateError {
  try {
    const { error } = JSON.parse(done.stdout.toString()) as { error: Record<string, string | null> };
    const { message, kind, fault, hint } = error;
    if (typeof message !== "string") return told(done);
    return new SpillgateError(message, { kind: kind ?? "failed", fault: (fault ?? "us") as Fault, hint: hint ?? "" });
  } catch {
    return told(done);
  }
}

/** The error that the program printed as text. */
function told(done: Done): SpillgateError {
  const text = done.stderr.trim().replace(/^error: /, "");
  return new SpillgateError(text || `\`spillgate\` ended with code ${done.code}`);
}
