"""The services of one night on a local port: models on three wires, a shop, a place for pull requests."""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness import failing, wire, words
from harness.brain import Answer, Brain, Conversation
from harness.scenario import Fault, Turn

HANG_SECONDS_MAX = 600.0


@dataclass(frozen=True)
class Seen:
    """A request to a model, as it came."""

    at: float
    wire: str
    task: str
    attempt: int
    served: str
    headers: dict[str, str]
    humans: tuple[str, ...]
    body: str


@dataclass
class Outside:
    """What the world outside has been made to do."""

    charges: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


class Service:
    """A server for one run of one scenario; nothing of it outlives `close`."""

    def __init__(self, brain: Brain, there: frozenset[str], shop: dict[str, Any], github: dict[str, Any]) -> None:
        self.brain = brain
        self._there = set(there)
        self.shop = shop
        self.github = github
        self.fill: Callable[[str], str] = str
        self.outside = Outside()
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self._seen: list[Seen] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.service = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def seen(self) -> list[Seen]:
        """Every request to a model so far."""
        with self.lock:
            return list(self._seen)

    def there(self, turn: Turn) -> frozenset[str]:
        """The files that may be there when a turn is carried out; those it writes are there from then on."""
        with self.lock:
            before = frozenset(self._there)
            self._there.update(act.value for act in turn.acts if act.kind == "write")
            return before

    def note(self, seen: Seen) -> None:
        """Keeps a request."""
        with self.lock:
            self._seen.append(seen)

    def close(self) -> None:
        """Ends it, with everything that hangs."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: Service

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written to the terminal."""

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        self._outside("GET", b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        name = wire.wire_of(self.path)
        if name is None:
            self._outside("POST", body)
        else:
            self._model(name, body)

    def _model(self, name: str, raw: bytes) -> None:
        service = self.server.service
        body = json.loads(raw)
        if not body.get("tools") and name == "messages" and body.get("max_tokens", 0) <= 1:
            self._json(200, wire.whole(words.Speech("", ()), wire.read(name, body), 0))
            return
        conversation = wire.read(name, body)
        answer = service.brain.answer(conversation)
        served = f"fault {answer.item.name}" if isinstance(answer.item, Fault) else "turn"
        headers = {key.lower(): value for key, value in self.headers.items()}
        text = raw.decode("utf-8", "replace")
        seen = Seen(time.monotonic(), name, answer.task, answer.attempt, served, headers, conversation.humans, text)
        service.note(seen)
        try:
            if isinstance(answer.item, Fault):
                self._fail(answer.item, conversation)
            else:
                self._speak(answer, answer.item, conversation)
        except OSError:
            service.brain.undelivered(answer.task)
            self.close_connection = True

    def _speak(self, answer: Answer, turn: Turn, conversation: Conversation) -> None:
        service = self.server.service
        if turn.pause and not self._patient(turn.pause):
            raise OSError("the client is gone")
        speech = words.filled(words.speak(turn, conversation, service.there(turn)), service.fill)
        number = len(service.seen())
        if not conversation.streaming:
            self._json(200, wire.whole(speech, conversation, number))
            return
        self._stream(wire.events(speech, conversation, number))

    def _stream(self, events: list[str]) -> None:
        self._head(200, "text/event-stream", None)
        for event in events:
            self._chunk(event.encode())
        self._chunk(b"")

    def _fail(self, fault: Fault, conversation: Conversation) -> None:
        if fault.seconds and not self._patient(fault.seconds):
            raise OSError("the client is gone")
        refusal = failing.refusal(fault, conversation.wire, time.time())
        if refusal:
            self._json(refusal.status, refusal.body, refusal.headers)
            return
        match fault.name:
            case "page":
                self._whole(502, "text/html", b"<html><h1>502 Bad Gateway</h1></html>", ())
            case "odd":
                self._json(200, {"type": "surprise", "words": ["not", "known"]})
            case "empty":
                self._stream([])
            case "cut" | "hang_after_start":
                self._begin(conversation)
                if fault.name == "hang_after_start":
                    self._patient(HANG_SECONDS_MAX)
                self._drop()
            case "overloaded_in_stream":
                self._begin(conversation)
                self._chunk(failing.in_stream(conversation.wire).encode())
                self._chunk(b"")
            case "hang":
                self._patient(HANG_SECONDS_MAX)
                self._drop()
            case "drop":
                self._drop()
            case _:
                raise ValueError(f"there is no fault {fault.name}")

    def _begin(self, conversation: Conversation) -> None:
        speech = words.Speech("I begin with", ())
        self._head(200, "text/event-stream", None)
        for event in wire.events(speech, conversation, 0)[:2]:
            self._chunk(event.encode())

    def _drop(self) -> None:
        """Ends the connection so that the other side sees a reset."""
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def _patient(self, seconds: float) -> bool:
        """Waits; false when the client went away or the night is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.server.service.closing.is_set():
                return False
            readable, _, _ = select.select([self.connection], [], [], min(0.1, seconds))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return False
        return True

    # --- The world outside ---

    def _outside(self, method: str, body: bytes) -> None:
        service = self.server.service
        path = self.path.split("?")[0]
        with service.lock:
            service.outside.paths.append(f"{method} {path}")
        if path.endswith("/models"):
            self._json(200, {"object": "list", "data": [], "models": []})
        elif path.startswith("/shop/"):
            self._shop(method, path.rsplit("/", 1)[1])
        elif path.startswith("/count/"):
            self._count(path.rsplit("/", 1)[1])
        elif "/pulls" in path:
            self._pulls(method, body)
        else:
            self._json(404, {"error": {"message": f"nothing at {path}"}})

    def _shop(self, method: str, order: str) -> None:
        service = self.server.service
        if method == "GET":
            known = service.outside.charges.get(order, 0)
            self._json(200 if known else 404, {"order": order, "charges": known})
            return
        with service.lock:
            service.outside.counts["charge"] = nth = service.outside.counts.get("charge", 0) + 1
            refused = nth <= int(service.shop.get("refuse", 0))
            denied = nth <= int(service.shop.get("deny", 0))
            if not refused and not denied:
                service.outside.charges[order] = service.outside.charges.get(order, 0) + 1
        if not self._patient(float(service.shop.get("slow", 0))):
            raise OSError("the client is gone")
        if denied:
            self._json(403, {"error": "your account has no right to charge"})
        elif refused:
            self._json(503, {"error": "try later"})
        elif nth <= int(service.shop.get("lose", 0)):
            self._drop()
        else:
            self._json(200, {"receipt": f"receipt-{order}"})

    def _count(self, name: str) -> None:
        service = self.server.service
        with service.lock:
            service.outside.counts[name] = service.outside.counts.get(name, 0) + 1
            number = service.outside.counts[name]
        self._json(200, {"count": number})

    def _pulls(self, method: str, body: bytes) -> None:
        service = self.server.service
        if method == "GET":
            self._json(200, service.outside.pulls)
            return
        with service.lock:
            number = len(service.outside.pulls) + 1
            pull = json.loads(body)
            pull.update(number=number, html_url=f"https://git.example/ada/shop/pull/{number}", state="open")
            service.outside.pulls.append(pull)
        if number <= int(service.github.get("lose", 0)):
            self._drop()
        else:
            self._json(201, pull)

    # --- HTTP ---

    def _json(self, status: int, body: Any, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self._whole(status, "application/json", json.dumps(body).encode(), headers)

    def _whole(self, status: int, kind: str, body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
        self._head(status, kind, len(body), headers)
        if self.command != "HEAD":
            self.wfile.write(body)
            self.wfile.flush()

    def _head(self, status: int, kind: str, length: int | None, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("request-id", failing.REQUEST_ID)
        for key, value in headers:
            self.send_header(key, value)
        if length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(length))
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
