"""Tools without a wall: what a careless loop does where a model asks for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.scenario import Act
from suite.place import Place

KINDS = ("read", "write", "edit", "shell")
"""What a model can ask for, as the first key of an act."""


def to_act(raw: dict[str, str]) -> Act:
    """An act of an attack, as the model of the suite says it."""
    kind = next(kind for kind in KINDS if kind in raw)
    return Act(kind, raw[kind], {key: value for key, value in raw.items() if key != kind})


def perform(place: Place, worktree: Path) -> None:
    """Does what the acts of an attack say, and writes down what it reads, turned round."""
    log = worktree / "attack.log"
    for raw in place.case.attack.acts:
        act = to_act({key: place.fill(value) for key, value in raw.items()})
        try:
            said = _do(act, worktree, place)
        except (OSError, subprocess.SubprocessError) as error:
            said = str(error)
        with log.open("a") as out:
            out.write(said[::-1] + "\n")


def _do(act: Act, worktree: Path, place: Place) -> str:
    path = worktree / act.value
    match act.kind:
        case "read":
            return path.read_bytes().decode("utf-8", "replace")
        case "write":
            path.write_text(act.more["text"])
        case "edit":
            path.write_text(path.read_text().replace(act.more["old"], act.more["new"]))
        case "shell":
            env = place.environment()
            ran = subprocess.run(["sh", "-c", act.value], cwd=worktree, env=env, capture_output=True, text=True,
                                 timeout=30, check=False, stdin=subprocess.DEVNULL)
            return ran.stdout + ran.stderr
    return ""
