#!/usr/bin/env python3
"""A small agent that gets itself unstuck over HTTP, with nothing but Python's standard library.

It adds up a column of orders.csv and books the sum. On the way its service is away for a moment, it
does not find the column, a person tells it which one it is, and the sum is booked exactly once.

    UNSTUCK_URL=http://127.0.0.1:7424 UNSTUCK_TOKEN=… python3 agent.py
"""

import csv
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
import uuid

GOAL = "Add up the amounts of all orders and book the sum once"
TRIES_MAX = 30  # of one request, while the server is away


class Api:
    """The session of this agent. Nothing here knows what the agent does."""

    def __init__(self, url, token):
        self.url, self.token = url.rstrip("/"), token
        opened = self.send("POST", "/api/v1/sessions", {"goal": GOAL}, new_key())
        self.path = f"/api/v1/sessions/{opened['id']}"
        self.direction = opened["direction"]
        print(f"session {opened['id']} is open", flush=True)

    def send(self, method, path, body=None, key=None):
        """Sends a request, once more under the same key while no answer comes."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        for left in reversed(range(TRIES_MAX)):
            request = urllib.request.Request(self.url + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=70) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code != 503 or not left:
                    raise SystemExit(f"{method} {path}: {error.code} {error.read().decode()}")
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if not left:
                    raise
            time.sleep(1)

    def failed(self, error, approach):
        """Tells what failed. What to do now comes back."""
        body = {"type": type(error).__name__, "message": str(error), "approach": approach}
        self.direction = self.send("POST", f"{self.path}/failures", body, new_key())

    def wait(self):
        """Waits, up to 55 seconds at a time, until there is something to do."""
        self.direction = self.send("GET", f"{self.path}?wait=55")["direction"]

    def once(self, key, arguments, perform):
        """Performs an irreversible action at most once, also when a process is killed in between."""
        path = f"{self.path}/mutations"
        permit = self.send("POST", path, {"key": key, "arguments": arguments})
        if permit["decision"] == "unsettled":
            # We were cut off when we did it last. Where you can look it up, do; a person can.
            self.direction = self.send("PATCH", f"{path}/{key}", {"outcome": "unknown"})
            return None
        if permit["decision"] != "proceed":
            # It happened before, was left out, or it is not the time for it.
            self.wait()
            return permit.get("result", "") if permit["decision"] in ("applied", "skipped") else None
        result = perform(permit["idempotency_key"])
        self.send("PATCH", f"{path}/{key}", {"outcome": "applied", "result": result})
        return result

    def succeeded(self, summary):
        self.send("POST", f"{self.path}/success", {"summary": summary})


def new_key():
    return str(uuid.uuid4())


class Orders:
    """Stands for whatever your agent works with."""

    def __init__(self, file):
        self.file, self.is_closed = file, True

    def read(self):
        if self.is_closed:
            self.is_closed = False
            raise ConnectionRefusedError("[Errno 111] Connection refused")
        with open(self.file, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def column(context, tried):
    """Stands for your model: it reads the context, and takes another way than before."""
    told = re.search(r"called (\w+)", context or "")
    if told:
        return told.group(1)
    return next((name for name in ("total", "amount", "price", "cost") if name not in tried), "")


def add_up(orders, name):
    rows = orders.read()
    if any(name not in row for row in rows):
        raise LookupError("the amounts are not in the column that was looked at")
    return sum(int(row[name]) for row in rows)


def book(total, idempotency_key):
    """An action that cannot be taken back. A real service recognises a repeated key by itself."""
    with open("booked.txt", "a", encoding="utf-8") as file:
        file.write(f"{total} {idempotency_key}\n")
    return f"booked {total}"


def main():
    api = Api(os.environ["UNSTUCK_URL"], os.environ["UNSTUCK_TOKEN"])
    orders, tried = Orders("orders.csv"), []
    while True:
        now = api.direction
        print(f"{now['decision']}, attempt {now['attempt']}", flush=True)
        if now["decision"] == "stop":
            return 1
        if now["decision"] != "retry":
            api.wait()
            continue
        name = column(now["context"], tried)
        try:
            total = add_up(orders, name)
        except Exception as error:
            if isinstance(error, LookupError):
                tried.append(name)
            api.failed(error, f"read the column {name!r}")
            continue
        result = api.once("book-the-sum", {"total": total}, lambda key: book(total, key))
        if result is not None:
            api.succeeded(f"added up the column {name!r}")
            print(f"done: {result}", flush=True)
            return 0


if __name__ == "__main__":
    sys.exit(main())
