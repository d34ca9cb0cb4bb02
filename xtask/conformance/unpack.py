"""Unpacks the SDK's own conformance client and everything-server from its source package.

unpack.py SDIST FOLDER: writes FOLDER/client.py and FOLDER/mcp_everything_server/.
"""

import pathlib
import sys
import tarfile

WANTED = {
    ".github/actions/conformance/client.py": "client.py",
    **{
        f"examples/servers/everything-server/mcp_everything_server/{name}": f"mcp_everything_server/{name}"
        for name in ("__init__.py", "__main__.py", "server.py")
    },
}


def main() -> None:
    source, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    (folder / "mcp_everything_server").mkdir(parents=True, exist_ok=True)
    missing = dict(WANTED)
    with tarfile.open(source) as package:
        for member in package:
            _, _, name = member.name.partition("/")
            if target := missing.pop(name, None):
                content = package.extractfile(member)
                assert content is not None, f"{name} is no file"
                (folder / target).write_bytes(content.read())
    if missing:
        sys.exit(f"the source package has no {', '.join(missing)}")


main()
