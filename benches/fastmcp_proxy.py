"""The rival gateway: FastMCP's own proxy, as its documentation sets it up, in front of one server.

Runs in the Python that has FastMCP: `python fastmcp_proxy.py CMD ARG…` on stdio, in front of a stdio server;
`python fastmcp_proxy.py --http PORT URL` over HTTP, in front of an HTTP server. Without banner and log lines,
which would cost it time that a user can save.
"""

import sys

from fastmcp.server import create_proxy

words = sys.argv[1:]
if words[0] == "--http":
    _, port, url = words
    server, how = {"url": url}, {"transport": "http", "host": "127.0.0.1", "port": int(port), "log_level": "error"}
else:
    server, how = {"command": words[0], "args": words[1:]}, {"transport": "stdio"}
proxy = create_proxy({"mcpServers": {"echo": server}}, name="fastmcp-proxy")
proxy.run(show_banner=False, **how)
