"""Logs for benchmarks: deterministic, realistic in shape, and quick to generate at 1 GB.

One block of about 4 MiB is built line by line (mixed templates, levels, ids, durations, occasionally a stack trace;
about 130 bytes a line). Each further block is that block with its digits exchanged, by one `bytes.translate` per
block, so that no block repeats another: the minute, day and hour advance, and ids and durations are permuted. Lines
planted at block boundaries contain the rare literal. Same seed, same bytes, on every machine.

`python3 corpus.py FILE MEGABYTES` makes one by hand.
"""

import os
import random
import sys

VERSION = 1  # part of the file names: raise it whenever the bytes change
BLOCK_BYTES = 4 << 20
SEED = 4217

# Placeholder bytes in the block for digits that each block fills in.
CLOCK = bytes(range(0x80, 0x86))  # day, hour, minute: two digits each
DIGITS = bytes(range(0x90, 0x9A))
HEX_DIGITS = bytes(range(0xA0, 0xB0))

RARE = b"2026-03-01T00:00:59.999Z ERROR ledger  reconciliation aborted code=E4217 shard-12 expected=118 found=117 operator action required\n"
RARE_BLOCKS = (3, 17, 29)  # and every 64th, so that logs of all sizes have a few


class Filler:
    """Random stand-ins for the variable parts of a line."""

    def __init__(self):
        self.random = random.Random(SEED)

    def digits(self, count):
        return bytes(self.random.choices(DIGITS, k=count))

    def hex(self, count):
        return bytes(self.random.choices(HEX_DIGITS, k=count))

    def pick(self, *choices):
        return self.random.choice(choices)


def http(f):
    method, status = f.pick(b"GET", b"GET", b"GET", b"POST", b"DELETE"), f.pick(b"200", b"200", b"200", b"204", b"304", b"404")
    path = f.pick(b"/api/v2/orders/", b"/api/v2/users/", b"/api/v2/invoices/", b"/static/bundle-")
    return b"INFO  http    req=%s method=%s path=%s%s status=%s bytes=1%s dur_ms=%s client=10.4.2.1%s" % (
        f.hex(16), method, path, f.digits(7), status, f.digits(4), f.digits(2), f.digits(1))


def sql(f):
    return b"DEBUG sql     conn=%s rows=%s dur_us=1%s stmt=\"SELECT id, total FROM orders WHERE customer_id = $1 AND day > $2\"" % (
        f.digits(3), f.digits(3), f.digits(4))


def cache(f):
    return b"DEBUG cache   key=session:%s region=%s outcome=%s size=1%s ttl_s=%s" % (
        f.hex(24), f.pick(b"eu-west-1", b"us-east-2", b"ap-south-1"), f.pick(b"hit", b"hit", b"hit", b"miss"), f.digits(4), f.digits(3))


def worker(f):
    return b"INFO  worker  worker-%s job=%s-%s-%s queue=%s finished in 1%s ms, 3 of 3 replicas acknowledged" % (
        f.digits(2), f.hex(8), f.hex(4), f.hex(4), f.pick(b"billing", b"mail", b"thumbnails"), f.digits(3))


def timeout(f):
    return b"WARN  pool    timeout after %s%sms on shard-%s, retry %s of 5, request %s put back to the queue" % (
        f.pick(b"1", b"2", b""), f.digits(3), f.digits(2), f.digits(1), f.hex(16))


def reset(f):
    words = f.pick(b"connection reset by peer", b"Connection reset by peer", b"CONNECTION RESET BY PEER")
    return b"ERROR net     upstream 10.8.%s.1%s:8443: %s while reading the response header, %s bytes so far" % (
        f.digits(1), f.digits(2), words, f.digits(4))


def trace(f):
    frames = b"".join(
        b"\n    at com.example.%s.%s(%s.java:1%s)" % (
            f.pick(b"orders", b"billing", b"shipping"), f.pick(b"Handler.invoke", b"Service.commit", b"Repository.load", b"Filter.doFilter"),
            f.pick(b"Handler", b"Service", b"Repository", b"Filter"), f.digits(2))
        for _ in range(f.random.randint(4, 12)))
    return b"ERROR app     java.lang.IllegalStateException: order %s is locked by transaction %s%s" % (f.digits(8), f.hex(12), frames)


TEMPLATES = ((http, 46), (sql, 18), (cache, 18), (worker, 14), (timeout, 2), (reset, 1), (trace, 1))


def template_block():
    f = Filler()
    makers, weights = zip(*TEMPLATES)
    lines, size = [], 0
    while size < BLOCK_BYTES:
        maker = f.random.choices(makers, weights)[0]
        share = size * 60_000 // (BLOCK_BYTES + 4096)  # one block is one minute of log
        line = b"2026-03-%sT%s:%s:%02d.%03dZ %s\n" % (CLOCK[0:2], CLOCK[2:4], CLOCK[4:6], share // 1000, share % 1000, maker(f))
        lines.append(line)
        size += len(line)
    return b"".join(lines)


def filled(block, index):
    """Block number `index`: its own minute, its own permutation of the other digits."""
    shuffle = random.Random(SEED * 1_000_003 + index)
    clock = b"%02d%02d%02d" % (1 + index // 1440 % 28, index // 60 % 24, index % 60)
    digits, hex_digits = list(b"0123456789"), list(b"0123456789abcdef")
    shuffle.shuffle(digits)
    shuffle.shuffle(hex_digits)
    text = block.translate(bytes.maketrans(CLOCK + DIGITS + HEX_DIGITS, clock + bytes(digits) + bytes(hex_digits)))
    return text + RARE if index in RARE_BLOCKS or index % 64 == 63 else text


def ensure(directory, megabytes):
    """The path of the log of this size, which is generated if it does not exist."""
    path = os.path.join(directory, f"log-v{VERSION}-{megabytes}m.log")
    if os.path.exists(path):
        return path
    os.makedirs(directory, exist_ok=True)
    make(path + ".part", megabytes)
    os.rename(path + ".part", path)
    return path


def make(path, megabytes):
    block = template_block()
    with open(path, "wb") as out:
        for index in range(max(1, (megabytes << 20) // BLOCK_BYTES)):
            out.write(filled(block, index))


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]))
