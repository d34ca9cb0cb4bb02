"""The time to store outputs in a bucket and to read them for the first time on another machine, beside rclone.

Needs `cargo xtask test-doors seaweedfs` to have run once, and rclone (Debian: apt-get install rclone)."""

import json
import os
import shutil
import sys
import tempfile

from harness import Failed, interleave, median, run, run_watched, seconds

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "xtask/doors"))
from seaweedfs import KEY, SECRET, Server  # noqa: E402

# A text of 1 KB is never stored, because its preview would not be shorter.
SIZES = ((10_000, "10 KB", 11), (1_000_000, "1 MB", 11), (100_000_000, "100 MB", 5), (1_000_000_000, "1 GB", 3))
GOAL_BYTES = 128 * 2**20


def text(path, size):
    """Writes lines that differ, so that nothing is stored only once."""
    with open(path, "wb") as file:
        count = 0
        while file.tell() < size:
            block = b"".join(b"line %012d of a log, with some words\n" % number for number in range(count, count + 20_000))
            file.write(block[: size - file.tell()])
            count += 20_000


class Sides:
    """Spillgate and rclone, each with a number for its next object."""

    def __init__(self, env, path, peaks):
        self.env, self.path, self.peaks, self.count = env, path, peaks, 0
        self.handle = self.name = None

    def fresh(self):
        """A machine with an empty cache."""
        home = tempfile.mkdtemp(dir=self.env.scratch)
        self.env.variables.update(HOME=home, XDG_CACHE_HOME=home + "/cache", XDG_STATE_HOME=home + "/state")
        return home

    def put(self):
        home = self.fresh()
        said = os.path.join(self.env.scratch, "handle")
        ended = run_watched(self.env, [self.env.binary, "--store", "s3://outputs/ours", "--json", "put", "--max-bytes", "100"], self.path, said)
        with open(said) as file:
            self.handle = json.load(file)["handle"]
        self.peaks.append(ended.peak_bytes)
        shutil.rmtree(home)
        return ended.seconds

    def read(self):
        home = self.fresh()
        got = os.path.join(self.env.scratch, "got")
        ended = run_watched(self.env, [self.env.binary, "--store", "s3://outputs/ours", "cat", self.handle, "--raw"], None, got)
        if os.path.getsize(got) != os.path.getsize(self.path):
            raise Failed("another number of bytes came back")
        self.peaks.append(ended.peak_bytes)
        shutil.rmtree(home)
        return ended.seconds

    def rclone_put(self):
        self.count += 1
        self.name = f"bench:outputs/theirs/{os.path.getsize(self.path)}-{self.count}"
        return run(self.env, ["rclone", "copyto", self.path, self.name]).seconds

    def rclone_read(self):
        got = os.path.join(self.env.scratch, "got-theirs")
        return run(self.env, ["rclone", "copyto", "--ignore-times", self.name, got]).seconds


def bucket(env, report):
    weed = os.environ.get("SPILLGATE_BENCH_WEED") or os.path.join(ROOT, ".doors/seaweedfs/bin/weed")
    if not os.path.exists(weed) or not shutil.which("rclone", path=env.variables["PATH"]):
        raise Failed("SeaweedFS or rclone is missing: see benches/bucket.py")
    server = Server(weed, env.scratch, volumes=400)
    before = dict(env.variables)
    try:
        server.make_bucket("outputs")
        address = f"http://127.0.0.1:{server.s3}"
        credentials = {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        theirs = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": address, "ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET}
        env.variables.update(credentials, RCLONE_S3_NO_CHECK_BUCKET="true")
        env.variables.update({f"RCLONE_CONFIG_BENCH_{name}": value for name, value in theirs.items()})
        peaks = []
        for size, name, rounds in SIZES[:3] if env.quick else SIZES:
            path = os.path.join(env.scratch, "output")
            text(path, size)
            sides = Sides(env, path, peaks)
            for what, ours, rival in (("put", sides.put, sides.rclone_put), ("first read", sides.read, sides.rclone_read)):
                took = interleave({"spillgate": ours, "rclone": rival}, rounds)
                mine, other = median(took["spillgate"]), median(took["rclone"])
                report.row(f"bucket: {what} of {name}", seconds(mine), f"rclone {seconds(other)}", other / mine)
            os.remove(path)
        peak = max(peaks)
        report.row("bucket: peak memory of these", f"{peak / 1e6:.0f} MB", "", "", "≤ 128 MiB", peak <= GOAL_BYTES)
    finally:
        env.variables.clear()
        env.variables.update(before)
        server.end()
