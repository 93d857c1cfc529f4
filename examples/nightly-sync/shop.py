#!/usr/bin/env python3
"""The way to the shop.

usage: shop.py orders                 prints how many orders there are: proves that the login works
       shop.py charge ORDER AMOUNT    charges, and prints the receipt
       shop.py charged ORDER          prints the receipt and ends with 0, or with 1 if there is none"""

import http.client
import json
import pathlib
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_SECONDS = 10


def call(path, body=None):
    """What the shop answers."""
    address = pathlib.Path("address").read_text().strip()
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(address + path, data=data)
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        return json.load(answer)


def main():
    verb, *more = sys.argv[1:]
    try:
        match verb:
            case "orders":
                print(len(call("/orders")))
            case "charge":
                print(call("/charges", {"order": more[0], "amount": int(more[1])})["receipt"])
            case "charged":
                print(call(f"/charges/{more[0]}")["receipt"])
    except urllib.error.HTTPError as error:
        sys.exit(1 if error.code == 404 else f"HTTP error {error.code}")
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"connection lost: {error}")


if __name__ == "__main__":
    main()
