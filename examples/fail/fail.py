#!/usr/bin/env python3
"""The same without starting a program: two lines of JSON over the socket that every run is given.

Run it with `unstuck exec -- python3 fail.py`. On its own it works as well: then there is no socket."""

import json
import os
import pathlib
import socket
import sys


def fail(code, message, retry_after_seconds=None):
    """Says what this script fails of. Whether it fails is seen when it ends."""
    path, token = os.environ.get("UNSTUCK_SOCKET"), os.environ.get("UNSTUCK_TOKEN")
    if not path or not token:
        return
    with socket.socket(socket.AF_UNIX) as unstuck:
        unstuck.connect(path)
        lines = unstuck.makefile("rw")
        said = {"do": "fail", "code": code, "message": message, "retry_after_seconds": retry_after_seconds}
        for number, ask in enumerate([{"do": "hello", "token": token}, said]):
            lines.write(json.dumps({"id": number, **ask}) + "\n")
            lines.flush()
            answer = json.loads(lines.readline())
            if "refused" in answer:
                sys.exit(f"Unstuck: {answer['refused']['message']}")


token = pathlib.Path("token")
if not token.exists():
    fail("AUTH_EXPIRED", "no token: log in to the shop and put it into ./token")
    sys.exit(77)
print(f"logged in with {token.stat().st_size} bytes")
