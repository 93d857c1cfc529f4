#!/usr/bin/env python3
"""Charges every order of the shop once and writes down the receipts. Kept alive by Unstuck; see README.md."""

import os
import pathlib
import signal
import subprocess
import sys
import urllib.error

import shop

RECEIPTS = pathlib.Path("receipts.csv")


def fail(code, message, *options):
    """Ends the script with what it fails of."""
    os.execvp("unstuck", ["unstuck", "fail", "--code", code, "--message", message, *options])


def orders():
    try:
        return shop.call("/orders")
    except urllib.error.HTTPError as error:
        match error.code:
            case 429:
                fail("TOOL_RATE_LIMIT", "the shop limits us", "--retry-after", error.headers["Retry-After"])
            case 401:
                fail("AUTH_EXPIRED", "the shop logged us out; put a new token into ./token")
            case _:
                fail("NETWORK_UNAVAILABLE", f"the shop answers {error.code}")
    except OSError as error:
        fail("NETWORK_UNAVAILABLE", str(error))


def charge(order, amount):
    """The receipt. An order is charged once, whatever happens on the way."""
    command = ["unstuck", "mutate", "--key", f"charge-{order}", "--settle", "0",
               "--probe", f"python3 shop.py charged {order}", "--",
               "python3", "shop.py", "charge", order, str(amount)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        fail("NETWORK_UNAVAILABLE", f"charging {order} ended with {done.returncode}")
    return done.stdout.strip()


receipts = []
for order in orders():
    receipts.append(charge(order["id"], order["total"]))
    if pathlib.Path("crash").exists():
        pathlib.Path("crash").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
RECEIPTS.write_text("".join(f"{receipt}\n" for receipt in receipts))
print(f"{len(receipts)} orders charged", file=sys.stderr)
