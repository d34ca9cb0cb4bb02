"""Records every line between a client and a server: `tap.py LOG COMMAND…`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import BinaryIO, TextIO


def pump(source: BinaryIO, sink: BinaryIO, who: str, log: TextIO) -> None:
    """Records lines and passes them on."""
    for raw in source:
        text = raw.rstrip(b"\n").decode("utf-8", errors="surrogateescape")
        log.write(json.dumps([who, text]) + "\n")
        log.flush()
        sink.write(raw)
        sink.flush()
    sink.close()


def main() -> None:
    """Runs the server until the client disconnects."""
    with open(sys.argv[1], "w", encoding="utf-8") as log:
        server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        # Some clients end us before the server.
        signal.signal(signal.SIGTERM, lambda *_: (server.kill(), sys.exit(0)))
        assert server.stdin and server.stdout
        back = (server.stdout, sys.stdout.buffer, "server", log)
        answers = threading.Thread(target=pump, args=back, daemon=True)
        answers.start()
        pump(sys.stdin.buffer, server.stdin, "client", log)
        answers.join(5)
        server.kill()


main()
