// Keeps oversized tool outputs out of a language model's context and loses none of them.
//
// `Spillgate.offload` returns an output that fits unchanged. A larger one is stored byte for byte,
// and a short preview is returned, which names the look-up tools of `Spillgate.tools`. The module
// `spillgate/ai` does both for the tools of the AI SDK.

import { SpillgateError } from "./errors.ts";
import type { Matches, Outline, Page, Passages, Results } from "./pages.ts";
import { Process, type Transport } from "./process.ts";

export * from "./errors.ts";
export type * from "./pages.ts";

/** All look-up tools that the program can list. Which of them it lists depends on the configuration. */
const LOOK_UP_TOOLS = new Set([
  "spillgate_read",
  "spillgate_grep",
  "spillgate_query",
  "spillgate_search",
  "get_continuation",
  "tool_output",
]);

/** Maximum number of outputs that a search without a handle searches. */
const SEARCHED = 40;

/** Options of `Spillgate`. */
export interface SpillgateOptions {
  /** The directory of the store; the program has a default. */
  store?: string;
  /** The configuration file. */
  config?: string;
  /** Offload outputs of more tokens or bytes; these override the rules of the configuration. */
  maxTokens?: number;
  maxBytes?: number;
  /** How a preview looks (docs/profiles.md). */
  profile?: string;
  /** Tools whose outputs always pass unchanged. */
  exclude?: Iterable<string>;
  /**
   * What `offload` and the agents' modules do with an error of Spillgate: `"warn"` (the default)
   * warns on the console, the first time, and lets the output pass; `"raise"` throws it.
   */
  onError?: "warn" | "raise";
  /** The path of the program. */
  program?: string;
  /** Milliseconds that a request may take, 60,000 by default. */
  timeoutMs?: number;
}

/** Where an output comes from. */
export interface PutOptions {
  /** The name of the tool, in messages and for the rules of the configuration. */
  tool?: string;
  /** The arguments of its call: a text, or what becomes JSON. */
  arguments?: unknown;
  /** Whether the output is the error of a call that failed. */
  failed?: boolean;
}

/** What became of an output. */
export interface Put {
  /** What a model should see; null if the output fits. */
  text: string | null;
  /** The name of the stored output; null if it fits or was not stored. */
  handle: string | null;
  /** Why it does not pass (docs/command-line.md lists the reasons). */
  reason: string | null;
  sha256: string | null;
  bytes: number | null;
  tokens: number | null;
  /** Why it was not stored; null if it was, or if it fits. */
  error: string | null;
}

/** A look-up tool for a model. */
export interface Tool {
  name: string;
  description: string;
  /** A JSON schema of the arguments. */
  inputSchema: Record<string, unknown>;
  call(input: unknown): Promise<string>;
}

/**
 * Stores outputs that are too large for a model, and looks into them.
 *
 * An object stands for one session: a search without a handle searches what it has stored.
 */
export class Spillgate {
  readonly #transport: Transport;
  readonly #exclude: Set<string>;
  readonly #raises: boolean;
  readonly #session: string[] = [];
  #tools: Tool[] | undefined;
  #hasWarned = false;

  constructor(options: SpillgateOptions = {}) {
    const { store, config, maxTokens, maxBytes, profile, program, timeoutMs = 60_000, onError = "warn" } = options;
    if (onError !== "warn" && onError !== "raise") throw new TypeError(`onError must be "warn" or "raise", not ${onError}`);
    const limits = { maxTokens, maxBytes, profile };
    this.#transport = new Process({ program, common: { store, config }, limits, timeoutMs });
    this.#exclude = new Set(options.exclude);
    this.#raises = onError === "raise";
  }

  /** Stores an output if it is too large. Throws `SpillgateError` if that is not possible. */
  async put(content: string | Uint8Array, options: PutOptions = {}): Promise<Put> {
    const { tool = "tool", failed = false } = options;
    const raw = typeof content === "string" ? Buffer.from(content) : content;
    const found = await this.#transport.put(raw, tool, callOf(options.arguments), failed);
    if (found.handle !== null) {
      this.#session.push(found.handle);
      if (this.#session.length > SEARCHED) this.#session.shift();
    }
    const isShown = found.handle !== null || found.error !== undefined;
    return {
      text: isShown ? (found.text ?? null) : null,
      handle: found.handle,
      reason: found.reason,
      sha256: found.sha256 ?? null,
      bytes: found.bytes ?? null,
      tokens: found.tokens ?? null,
      error: found.error?.message ?? null,
    };
  }

  /**
   * What a model should see of an output: the output itself, unchanged, or a preview. An error of
   * Spillgate is treated as `onError` says.
   */
  async offload<Content extends string | Uint8Array>(content: Content, options: PutOptions = {}): Promise<Content | string> {
    if (!this.covers(options.tool ?? "tool")) return content;
    try {
      const found = await this.put(content, options);
      // An output whose secrets keep it from being stored must not be shown either.
      if (found.error !== null && found.reason !== "secrets") {
        throw new SpillgateError(`the output was not stored: ${found.error}`, { kind: "store" });
      }
      return found.text ?? content;
    } catch (error) {
      this.report(error);
      return content;
    }
  }

  /**
   * Offloads the texts among the parts of an output, joined with line ends. If they do not fit, one
   * part with the preview takes their place, before all other parts.
   */
  async offloadParts<Part>(
    parts: Part[],
    textOf: (part: Part) => string | undefined,
    toPart: (text: string) => Part,
    options: PutOptions = {},
  ): Promise<Part[]> {
    const texts = parts.map(textOf).filter((text) => text !== undefined);
    if (texts.length === 0) return parts;
    const whole = texts.join("\n");
    const shown = await this.offload(whole, options);
    return shown === whole ? parts : [toPart(shown), ...parts.filter((part) => textOf(part) === undefined)];
  }

  /** Whether outputs of a tool are offloaded at all; those of the look-up tools never are. */
  covers(tool: string): boolean {
    const at = tool.lastIndexOf("__");
    const last = at < 0 ? tool : tool.slice(at + 2);
    return !LOOK_UP_TOOLS.has(last) && !this.#exclude.has(tool);
  }

  /** Throws an error of Spillgate, or warns about it, as `onError` says. */
  report(error: unknown): void {
    if (this.#raises || !(error instanceof SpillgateError)) throw error;
    if (!this.#hasWarned) console.warn(`spillgate: a tool's output passes unchanged: ${error.message}`);
    this.#hasWarned = true;
  }

  /**
   * The look-up tools, with the texts of the gateway's tools. Which tools there are depends on the
   * configuration. The list is empty after an error that was only warned of.
   */
  async tools(): Promise<Tool[]> {
    try {
      this.#tools ??= (await this.#transport.definitions()).map(({ name, description, inputSchema }) => ({
        name,
        description,
        inputSchema,
        call: (input) => this.#call(name, input),
      }));
    } catch (error) {
      this.report(error);
    }
    return this.#tools ?? [];
  }

  async #call(name: string, input: unknown): Promise<string> {
    try {
      return await this.#transport.call(name, JSON.stringify(input ?? {}), this.#session);
    } catch (error) {
      if (this.#raises || !(error instanceof SpillgateError)) throw error;
      return `error: ${error.message}`;
    }
  }

  /** A stored output, by its handle or by `last`. */
  artifact(handle: string): Artifact {
    return new Artifact(handle, this.#transport);
  }
}

/** A stored output. The methods throw `SpillgateError`, for example for an unknown handle. */
export class Artifact {
  readonly handle: string;
  readonly #transport: Transport;

  /** Use `Spillgate.artifact`. */
  constructor(handle: string, transport: Transport) {
    this.handle = handle;
    this.#transport = transport;
  }

  /** Lines of the readable text, or its bytes `"A..B"`; `path` reads a string of a JSON document. */
  async read(
    options: { start?: number; lines?: number; tail?: boolean; bytes?: string; path?: string; maxTokens?: number } = {},
  ): Promise<Page> {
    return (await this.#transport.look("read", [this.handle], options)) as Page;
  }

  /** The lines that match a regular expression (Rust's syntax), from line `start` on. */
  async grep(
    pattern: string,
    options: {
      before?: number;
      after?: number;
      ignoreCase?: boolean;
      start?: number;
      maxMatches?: number;
      path?: string;
      maxTokens?: number;
    } = {},
  ): Promise<Matches> {
    const { before, after, ...more } = options;
    const flags = { ...more, beforeContext: before, afterContext: after };
    return (await this.#transport.look("grep", [this.handle, pattern], flags)) as Matches;
  }

  /** The results of a jq filter over JSON, JSON lines, a table or lines of text. */
  async query(
    filter: string,
    options: { rawOutput?: boolean; slurp?: boolean; start?: number; byte?: number; maxTokens?: number } = {},
  ): Promise<Results> {
    return (await this.#transport.look("query", [this.handle, filter], options)) as Results;
  }

  /** The passages that best match words or a question. */
  async search(words: string, options: { maxTokens?: number } = {}): Promise<Passages> {
    return (await this.#transport.look("search", [this.handle, words], options)) as Passages;
  }

  /** The shape of the content. */
  async outline(options: { maxTokens?: number } = {}): Promise<Outline> {
    return (await this.#transport.look("outline", [this.handle], options)) as Outline;
  }

  /** All bytes, as they came in. */
  async raw(): Promise<Uint8Array> {
    return this.#transport.raw(this.handle);
  }
}

/** The arguments of a call as a text; undefined if they cannot be JSON. */
function callOf(value: unknown): string | undefined {
  if (typeof value === "string" || value === undefined) return value;
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
