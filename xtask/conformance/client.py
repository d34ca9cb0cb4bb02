"""The client under test of the suite: the SDK's own conformance client, alone or through a gateway.

client.py WAY SDK [GATEWAY...] -- URL, where WAY is
  direct  the client talks to URL
  stdio   the client starts `GATEWAY... --url URL` and talks to its stdin and stdout
  http    the same, over HTTP: `GATEWAY... --http 127.0.0.1:0 --url URL`
The suite appends URL and names the scenario in MCP_CONFORMANCE_SCENARIO.
"""

import asyncio
import contextlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time

PATIENCE = 20.0


def sdk_client(folder: str):
    """The SDK's client, as a module."""
    spec = importlib.util.spec_from_file_location("sdk_client", os.path.join(folder, "client.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def http_gateway(command: list[str], url: str):
    """Starts a gateway; yields its address, the first one that it prints that is not the server's."""
    with tempfile.TemporaryFile() as log:
        gateway = subprocess.Popen(
            [*command, "--http", "127.0.0.1:0", "--url", url], stdin=subprocess.PIPE, stdout=log, stderr=log
        )
        try:
            yield address(gateway, log, url)
        finally:
            gateway.terminate()
            try:
                gateway.wait(10)
            except subprocess.TimeoutExpired:
                gateway.kill()
            log.seek(0)
            sys.stderr.write(log.read().decode(errors="replace"))


def address(gateway, log, url: str) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and gateway.poll() is None:
        said = os.pread(log.fileno(), 1 << 16, 0).decode(errors="replace")
        for found in re.findall(r"http://127\.0\.0\.1:\d+[\w/]*", said):
            if url.replace("localhost", "127.0.0.1").split("/")[2] != found.split("/")[2]:
                return found if found.count("/") > 2 else f"{found}/mcp"
        time.sleep(0.02)
    sys.exit("the gateway does not say where it listens")


def main() -> None:
    rest, url = sys.argv[1:-1], sys.argv[-1]
    way, folder, command = rest[0], rest[1], [word for word in rest[2:] if word != "--"]
    sdk = sdk_client(folder)
    handler = sdk.HANDLERS[os.environ["MCP_CONFORMANCE_SCENARIO"]]
    if way == "direct":
        asyncio.run(handler(url))
    elif way == "stdio":
        from mcp import StdioServerParameters

        arguments = [*command[1:], "--url", url]
        # The SDK's client accepts these in place of a URL.
        asyncio.run(handler(StdioServerParameters(command=command[0], args=arguments, env=dict(os.environ))))
    else:
        with http_gateway(command, url) as through:
            asyncio.run(handler(through))


main()
