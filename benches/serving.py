"""Servers and gateways behind HTTP, for the duration of a benchmark."""

import os
import re
import select
import signal
import socket
import subprocess
import time

from harness import TIMEOUT_S, Failed, status_kb

URL = re.compile(rb"http://\S+")


class Serving:
    """A process that prints its address on one of its streams. The end of the `with` ends it by its pid."""

    def __init__(self, env, command, says_on="stdout"):
        streams = {says_on: subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | {says_on: subprocess.PIPE}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=env.variables, **streams)
        self.name, self.url = os.path.basename(command[0]), ""
        try:
            self.url = self._heard(getattr(self.process, says_on))
        except BaseException:
            self.end()
            raise

    def _heard(self, stream):
        said, until = b"", time.monotonic() + TIMEOUT_S
        while not URL.search(said) or not said.endswith(b"\n"):
            if not select.select([stream], [], [], max(0, until - time.monotonic()))[0]:
                raise Failed(f"`{self.name}` does not say where it listens")
            part = os.read(stream.fileno(), 4096)
            if not part:
                raise Failed(f"`{self.name}` ended with {self.process.wait()}: {said.decode(errors='replace')[:300]}")
            said += part
        return URL.search(said)[0].decode()

    @property
    def peak_bytes(self):
        return status_kb(self.process.pid, "VmHWM") * 1024

    @property
    def authority(self):
        return self.url.split("/")[2]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def gateway(env, arguments, prefix=()):
    """`spillgate mcp --http` on a free port."""
    return Serving(env, [*prefix, env.binary, "mcp", "--http", "127.0.0.1:0", *arguments], "stderr")


class Rival(Serving):
    """FastMCP's proxy, which prints nothing: it is up when its port answers."""

    def __init__(self, env, url, prefix=()):
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.port = chosen.getsockname()[1]
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fastmcp_proxy.py")
        super().__init__(env, [*prefix, env.fastmcp_python, script, "--http", str(self.port), url])

    def _heard(self, stream):
        until = time.monotonic() + TIMEOUT_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return f"http://127.0.0.1:{self.port}/mcp"
            except OSError:
                time.sleep(0.05)
        raise Failed("FastMCP's proxy does not listen")
