#!/usr/bin/env python3
"""A shop on this machine that behaves as badly as its weather file says. See README.md.

usage: service.py WEATHER
Every charge that really happens is a line in ./charges.log."""

import http.server
import json
import pathlib
import sys
import threading

ORDERS = [{"id": "a1", "total": 500}, {"id": "b2", "total": 1250}]
CHARGES = pathlib.Path("charges.log")
TURN = threading.Lock()


def weather():
    """What happens to the next request."""
    file = pathlib.Path(sys.argv[1])
    lines = file.read_text().split() if file.exists() else []
    if lines and lines[0] == "401" and good_token() and good_token() == current_token():
        lines = lines[1:]
    if not lines:
        return "ok"
    if lines[0] != "401":
        file.write_text("\n".join(lines[1:]))
    return lines[0]


def good_token():
    file = pathlib.Path("good-token")
    return file.read_text().strip() if file.exists() else None


def current_token():
    file = pathlib.Path("token")
    return file.read_text().strip() if file.exists() else None


def charged(order):
    lines = CHARGES.read_text().splitlines() if CHARGES.exists() else []
    return next((line for line in lines if line.split()[0] == order), None)


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with TURN:
            if self.path.startswith("/charges/"):
                found = charged(self.path.rsplit("/", 1)[1])
                return self.say(200, {"receipt": found}) if found else self.say(404, {"error": "no such charge"})
            if self.bad(weather()):
                return None
            renamed = pathlib.Path("renamed").exists()
            orders = [{"id": o["id"], "amount" if renamed else "total": o["total"]} for o in ORDERS]
            return self.say(200, orders)

    def do_POST(self):
        with TURN:
            wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            sky = weather()
            if sky != "lose" and self.bad(sky):
                return None
            receipt = f"{wanted['order']} {wanted['amount']} receipt-{wanted['order']}"
            with CHARGES.open("a") as charges:
                charges.write(receipt + "\n")
            if sky == "lose":
                return self.connection.close()
            return self.say(200, {"receipt": receipt})

    def bad(self, sky):
        if sky == "ok":
            return False
        if sky == "lose":
            self.connection.close()
        else:
            self.say(int(sky), {"error": f"status {sky}"})
        return True

    def say(self, status, body):
        answer = json.dumps(body).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
pathlib.Path("address").write_text(f"http://127.0.0.1:{server.server_address[1]}")
print("the shop is open", flush=True)
server.serve_forever()
