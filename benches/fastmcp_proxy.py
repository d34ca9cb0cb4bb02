"""The rival gateway: FastMCP's own proxy, as its documentation sets it up, on stdio in front of one stdio server.

Run by the Python that has FastMCP: `python fastmcp_proxy.py CMD ARG…`. No banner and no log lines, which would cost
it time that a user need not pay.
"""

import sys

from fastmcp.server import create_proxy

command, *arguments = sys.argv[1:]
proxy = create_proxy(
    {"mcpServers": {"echo": {"command": command, "args": arguments}}}, name="fastmcp-proxy"
)
proxy.run(transport="stdio", show_banner=False)
