"""What `unstuck doctor --wall` says about this machine, compared with what attacks really came to."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from suite.attack import Case
from suite.judge import Verdict

WRITING = ("write", "change", "remove", "rename", "link", "symlink", "root", "host-root")
READING = ("read", "read-root", "read-host")

LIKE = {
    "reading": READING,
    "writing": WRITING,
    "repository": WRITING,
    "processes": ("signal", "environ", "memory", "trace"),
    "network": ("tcp",),
    "repair": (*WRITING, *READING),
}
"""The ways out that doctor tries and that attacks of a family are like, unless they name others."""

CHECKING = ("check", "hook")
"""Ways in which an attack is run behind the wall of checks; doctor tries some ways out there as well."""


@dataclass(frozen=True)
class Prediction:
    """What doctor says: its attacks, and whether each was held."""

    held: dict[str, bool]
    own_sandbox: bool = False

    def may_get_through(self, case: Case) -> bool:
        """Whether doctor says that something like this gets through here."""
        if self.own_sandbox and case.way == "agent":
            # It says in words what the agent's own sandbox leaves open.
            return bool({*READING, "temporary"} & {*self.like(case)})
        return any(not self.held[name] for name in self.like(case))

    def like(self, case: Case) -> tuple[str, ...]:
        """What doctor tries that a case is like."""
        attack = case.attack
        named = attack.like if attack.like is not None else LIKE.get(attack.family, ())
        if case.way in CHECKING:
            return tuple(f"check-{name}" if f"check-{name}" in self.held else name for name in named)
        return named


def ask(unstuck: Path, below: Path, env: dict[str, str]) -> Prediction:
    """Asks doctor, in a project of its own."""
    folder = below / "doctor"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "home").mkdir(parents=True)
    (folder / "repo").mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=folder / "repo", check=True)
    command = [str(unstuck), "doctor", "--wall", "--json"]
    env = {**env, "HOME": str(folder / "home")}
    ran = subprocess.run(command, cwd=folder / "repo", env=env, capture_output=True, text=True, check=False, timeout=300)
    try:
        told = json.loads(ran.stdout)
    except json.JSONDecodeError as error:
        raise RuntimeError(f"doctor says {ran.stdout!r} and {ran.stderr!r}") from error
    shutil.rmtree(folder, ignore_errors=True)
    return Prediction({each["attack"]: each["held"] for each in told["attacks"]}, told["own_sandbox"])


def compared(verdicts: list[Verdict], said: Prediction) -> tuple[list[str], list[str]]:
    """Where doctor says too much, as sentences; and what it says gets through and nothing did."""
    wrong = [
        f"{verdict.case.name} got through, and doctor says that {', '.join(said.like(verdict.case)) or 'nothing'} held"
        for verdict in verdicts
        if verdict.through and not said.may_get_through(verdict.case)
    ]
    came = {name for verdict in verdicts if verdict.through for name in said.like(verdict.case)}
    tried = {name for verdict in verdicts for name in said.like(verdict.case)}
    notes = [f"doctor says that {name} gets through, and nothing like it did" for name, held in said.held.items()
             if not held and name in tried - came]
    return wrong, notes
