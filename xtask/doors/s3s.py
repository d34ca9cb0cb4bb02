"""Runs the store in a bucket against s3s-fs, a server of S3's protocol over a directory: the conformance suite, then the program.

usage: s3s.py S3S_FS SPILLGATE TEST_BINARY

TEST_BINARY is the unit tests of the crate `object-store`. Everything listens on 127.0.0.1 only.
"""

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from azurite import await_port  # noqa: E402
from faults import with_faults  # noqa: E402
from seaweedfs import KEY, SECRET, check, environment_at, free_ports, on_two_machines  # noqa: E402


def main():
    server, program, tests = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        root = os.path.join(directory, "root")
        os.makedirs(os.path.join(root, "outputs"))
        [port] = free_ports(1)
        with open(os.path.join(directory, "s3s.log"), "w") as log:
            process = subprocess.Popen(
                [server, "--host", "127.0.0.1", "--port", str(port), "--access-key", KEY, "--secret-key", SECRET, root],
                stdout=log, stderr=log)
        try:
            await_port(port)
            environment = environment_at(port)
            suite = {**environment, "SPILLGATE_S3": "s3://outputs/suite"}
            done = subprocess.run([tests, "conforms_on_a_server"], env=suite, capture_output=True, text=True, timeout=300)
            check(done.returncode == 0 and "1 passed" in done.stdout, "the suite of stores passes" + done.stdout[-3000:] * (done.returncode != 0))
            on_two_machines(program, directory, "s3://outputs/machines", environment)
            with_faults(program, directory, "s3://outputs/faults", environment, port)
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
