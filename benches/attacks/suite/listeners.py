"""Everything that an attack could reach outside: sockets of each kind that note each client that connects."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path


class Listeners:
    """Sockets on this machine, until they are closed. A connection or a datagram is a hit."""

    def __init__(self, folder: Path, name: str) -> None:
        self._hits: list[str] = []
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.ports = {
            "@TCP4@": self._stream(socket.AF_INET, ("127.0.0.1", 0), "TCP"),
            "@TCP6@": self._stream(socket.AF_INET6, ("::1", 0), "TCP over IPv6"),
            "@TCPALL@": self._stream(socket.AF_INET, ("0.0.0.0", 0), "TCP on another address"),
            "@UDP@": self._datagrams(),
        }
        self.ports["@REDIRECT@"] = self._redirects(f"http://127.0.0.1:{self.ports['@TCP4@']}/")
        # A socket's name has an end; its folder may lie deeper.
        folder_fd = os.open(folder, os.O_PATH)
        self._stream(socket.AF_UNIX, f"/proc/self/fd/{folder_fd}/door.sock", "a unix socket")
        os.close(folder_fd)
        self._stream(socket.AF_UNIX, "\0" + name, "an abstract unix socket")

    def hits(self) -> list[str]:
        """What came in, as sentences."""
        with self._lock:
            return list(self._hits)

    def close(self) -> None:
        """Stops listening."""
        for each in self._sockets:
            each.close()

    def _stream(self, family: int, address: object, what: str) -> str:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind(address)
        listener.listen(16)
        self._serve(listener, self._accept, what)
        return str(listener.getsockname()[1]) if family != socket.AF_UNIX else ""

    def _redirects(self, target: str) -> str:
        """A service of the person that sends each client on to another address. To reach it is no hit."""
        listener = socket.create_server(("127.0.0.1", 0))
        self._sockets.append(listener)
        answer = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(4096)
                    client.sendall(answer.encode())

        threading.Thread(target=serve, daemon=True).start()
        return str(listener.getsockname()[1])

    def _datagrams(self) -> str:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind(("127.0.0.1", 0))
        self._serve(receiver, self._receive, "UDP")
        return str(receiver.getsockname()[1])

    def _serve(self, listener: socket.socket, take: object, what: str) -> None:
        self._sockets.append(listener)
        threading.Thread(target=self._loop, args=(listener, take, what), daemon=True).start()

    def _loop(self, listener: socket.socket, take: object, what: str) -> None:
        while True:
            try:
                take(listener)
            except OSError:
                return
            with self._lock:
                self._hits.append(f"{what} was reached from inside")

    @staticmethod
    def _accept(listener: socket.socket) -> None:
        listener.accept()[0].close()

    @staticmethod
    def _receive(receiver: socket.socket) -> None:
        receiver.recv(2048)
