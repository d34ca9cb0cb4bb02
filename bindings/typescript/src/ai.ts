// For the AI SDK: the model gets previews of large tool outputs, the program keeps the whole outputs.
//
//     const result = await generateText({ model, tools: await withSpillgate(tools), stopWhen, prompt });

import { createHash } from "node:crypto";

import { dynamicTool, type JSONSchema7, jsonSchema, type Tool, type ToolSet } from "ai";

import { Spillgate } from "./index.ts";

/** What the AI SDK sends to a model of a tool's output. */
type Output = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>;

/** What a model was shown of the output of a call. */
interface Shown {
  sha256: string;
  output: Output;
}

/** Maximum number of calls whose previews are remembered. */
const REMEMBERED = 1000;

/**
 * The tools, with outputs offloaded, and the look-up tools.
 *
 * Only the model's view changes (`toModelOutput`): results, steps and messages for the user keep
 * the whole outputs. Give the same tools to `convertToModelMessages`. `lookups: false` adds no tools.
 */
export async function withSpillgate<Tools extends ToolSet>(
  tools: Tools,
  spillgate: Spillgate = new Spillgate(),
  { lookups = true }: { lookups?: boolean } = {},
): Promise<Tools & ToolSet> {
  const shown = new Map<string, Shown>();
  const offloaded = Object.entries(tools).map(([name, tool]) => [name, offloadedTool(name, tool as Tool, spillgate, shown)]);
  const ours = lookups ? await lookupTools(spillgate) : {};
  return { ...(Object.fromEntries(offloaded) as Tools), ...ours };
}

/** The look-up tools as tools of the AI SDK. */
export async function lookupTools(spillgate: Spillgate): Promise<ToolSet> {
  const tools = (await spillgate.tools()).map((tool) => [
    tool.name,
    dynamicTool({
      description: tool.description,
      inputSchema: jsonSchema(tool.inputSchema as JSONSchema7),
      execute: (input) => tool.call(input),
    }),
  ]);
  return Object.fromEntries(tools) as ToolSet;
}

function offloadedTool(name: string, tool: Tool, spillgate: Spillgate, shown: Map<string, Shown>): Tool {
  const { execute, toModelOutput } = tool;
  const changed: Record<string, unknown> = {
    ...tool,
    async toModelOutput(options: { toolCallId: string; input: unknown; output: unknown }): Promise<Output> {
      const output = toModelOutput
        ? await toModelOutput.call(tool, options as never)
        : typeof options.output === "string"
          ? { type: "text" as const, value: options.output }
          : { type: "json" as const, value: (options.output ?? null) as never };
      // The AI SDK asks again in later steps. An equal message keeps the provider's cache of the prompt.
      const sha256 = createHash("sha256").update(JSON.stringify(output)).digest("hex");
      const key = `${name}\0${options.toolCallId}`;
      const before = shown.get(key);
      if (before?.sha256 === sha256) return before.output;
      const view = await offloadedOutput(output, spillgate, name, options.input);
      shown.set(key, { sha256, output: view });
      const [oldest] = shown.keys();
      if (shown.size > REMEMBERED && oldest !== undefined) shown.delete(oldest);
      return view;
    },
  };
  if (execute) {
    changed["execute"] = (input: unknown, options: unknown) => {
      const failed = async (error: unknown): Promise<never> => {
        const text = error instanceof Error ? error.message : String(error);
        const preview = await spillgate.offload(text, { tool: name, arguments: input, failed: true });
        throw preview === text ? error : new Error(preview, { cause: error });
      };
      try {
        const output: unknown = execute.call(tool, input as never, options as never);
        // An iterable of preliminary outputs has to stay one.
        return output instanceof Promise ? output.catch(failed) : output;
      } catch (error) {
        return failed(error);
      }
    };
  }
  return changed as unknown as Tool;
}

/** The output with a preview in place of its text, if it is too large. */
async function offloadedOutput(output: Output, spillgate: Spillgate, tool: string, input: unknown): Promise<Output> {
  const call = { tool, arguments: input };
  const isError = output.type === "error-text" || output.type === "error-json";
  switch (output.type) {
    case "text":
    case "error-text":
    case "json":
    case "error-json": {
      const isText = output.type === "text" || output.type === "error-text";
      const text = isText ? output.value : JSON.stringify(output.value);
      const shown = await spillgate.offload(text, { ...call, failed: isError });
      return shown === text ? output : { ...output, type: isError ? "error-text" : "text", value: shown };
    }
    case "content": {
      type Part = (typeof output.value)[number];
      const textOf = (part: Part) => (part.type === "text" ? part.text : undefined);
      const toPart = (text: string): Part => ({ type: "text", text });
      const value = await spillgate.offloadParts(output.value, textOf, toPart, call);
      return value === output.value ? output : { ...output, value };
    }
    default:
      return output;
  }
}
