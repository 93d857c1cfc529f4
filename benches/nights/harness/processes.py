"""Processes of a night: which are left, and how they are ended. Only what belongs to a stage is touched."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process that belongs to a stage."""

    pid: int
    command: str


def belonging_to(root: Path) -> list[Process]:
    """The processes whose directory, environment or arguments lie in a stage, except our own."""
    mark = str(root).encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            process = _look(entry, mark)
            if process:
                found.append(process)
    return found


def _look(entry: Path, mark: bytes) -> Process | None:
    try:
        command = (entry / "cmdline").read_bytes()
        state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        where = os.readlink(entry / "cwd").encode()
        environment = (entry / "environ").read_bytes()
    except OSError:
        return None
    if state == "Z" or not (mark in where or mark in environment or mark in command):
        return None
    return Process(int(entry.name), command.replace(b"\0", b" ").decode("utf-8", "replace")[:160])


def left_after(root: Path, seconds: float) -> list[Process]:
    """What is still there after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        left = belonging_to(root)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def end(processes: list[Process]) -> None:
    """Ends processes of a stage, each by its id."""
    for process in processes:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
