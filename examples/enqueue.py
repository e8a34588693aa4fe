#!/usr/bin/env python3
"""Enqueues jobs for Linchpin workers through redis-py: docs/protocol.md, version 1.

Usage: enqueue.py URL NAMESPACE TASK JSON [LOCK_KEY ...]
"""
import json, pathlib, secrets, sys, time
import redis

SCRIPT = (pathlib.Path(__file__).parent.parent / "docs" / "enqueue.lua").read_text()
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
UNSAFE = {ord(c): f"%{ord(c):02X}" for c in [*map(chr, range(32)), "\x7f", "%", "|", ","]}

def job_id():
    """A UUIDv7, written as 22 digits that sort by time."""
    n = int(time.time() * 1000) << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return "".join(DIGITS[n >> 6 * i & 63] for i in range(21, -1, -1))

class Producer:
    """One connection, one lane: a batch that is resent is recognised, and makes no second job."""
    def __init__(self, url, namespace="linchpin"):
        self.redis, self.prefix, self.number = redis.Redis.from_url(url), "{%s}:" % namespace, 0
        self.process = secrets.token_hex(6)
        self.script = SCRIPT.replace("{linchpin}:", self.prefix)
        if int(self.redis.get(self.prefix + "schema") or 1) > 1:
            raise RuntimeError("the workers of this namespace are newer: take their docs/protocol.md")

    def enqueue(self, task, args, queue="default", priority=1, locks=()):
        keys = ",".join(key.translate(UNSAFE) for key in sorted(set(locks), key=str.encode))
        job, body = job_id(), f"{task}\n{json.dumps(args)}".encode()
        apart = len(body) > 4096
        header = f"1|{queue}|{priority}|{keys}|w|||3||{1 if apart else ''}\n".encode()
        self.number += 1
        arguments = [self.process, 0, self.number, f"{self.number - 1}|", 0, 1, 1, queue, priority, int(apart)]
        arguments += [job, header if apart else header + body, f"{job}|{keys}" if keys else job]
        answer = self.redis.eval(self.script, 1, self.prefix, *arguments, *([job, body] if apart else []))
        if answer != b"n":
            raise RuntimeError(f"not accepted: {answer!r}")
        return job

if __name__ == "__main__":
    url, namespace, task, args, *locks = sys.argv[1:]
    print(Producer(url, namespace).enqueue(task, json.loads(args), locks=locks))
