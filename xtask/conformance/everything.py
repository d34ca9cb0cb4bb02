"""Serves the SDK's everything-server on a free port; its module must be on the path.

Prints `listening on URL` on stdout and ends with stdin: its parent holds the other end.
"""

import os
import socket
import sys
import threading

import uvicorn
from mcp_everything_server import server


def end_with_stdin() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    app = server.mcp.streamable_http_app(event_store=server.event_store, retry_interval=100)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
