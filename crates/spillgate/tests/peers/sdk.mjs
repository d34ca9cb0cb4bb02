// The TypeScript SDK's clients, told what to do by clients.py over stdin and stdout.
//
// usage: node sdk.mjs v1|v2 NODE_MODULES COMMAND…
// Says the result of tools/list, then answers each line `[tool, arguments]` with the result of
// that call or `{"refused": why}` where the client, not the server, would not have it.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [generation, modules, command, ...args] = process.argv.slice(2);

const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`).href);
const { Client } = await load(generation === "v1" ? "sdk/dist/esm/client/index.js" : "client/dist/index.mjs");
const { StdioClientTransport } = await load(
  generation === "v1" ? "sdk/dist/esm/client/stdio.js" : "client/dist/stdio.mjs",
);

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const attempt = async (work) => {
  try {
    return await work();
  } catch (error) {
    return { refused: String(error?.message ?? error) };
  }
};

const client = new Client({ name: `typescript-${generation}`, version: "1" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, stderr: "inherit", env: process.env }));
say(await attempt(() => client.listTools()));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, given] = JSON.parse(line);
  say(await attempt(() => client.callTool({ name, arguments: given })));
}
await client.close();
