"""A scenario as it is read from its file: data only, nothing is done here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AGENTS = ("claude", "codex", "api")
"""The agents that every scenario is run with, unless it names its own."""


class Wrong(Exception):
    """A scenario file that cannot be understood."""


@dataclass(frozen=True)
class Fault:
    """What the service does instead of answering, for `times` requests or `for_seconds` from the first one on."""

    name: str
    times: int = 1
    for_seconds: float | None = None
    retry_after: int | None = None
    retry_date_in: int | None = None
    reset_in: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Act:
    """One thing a model wants done, in no agent's own words."""

    kind: str
    value: str = ""
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """One answer of the model."""

    acts: tuple[Act, ...]
    pause: float = 0.0
    stop: str = ""
    tokens: int = 0


@dataclass(frozen=True)
class Role:
    """What the model does for one task: its turns and faults, attempt by attempt."""

    task: str
    attempts: tuple[tuple[Turn | Fault, ...], ...]


@dataclass(frozen=True)
class When:
    """Something that is done while a step runs, as soon as something can be observed."""

    event: str
    do: str
    more: dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One thing a person does: runs a command of Unstuck, answers, changes a file."""

    kind: str
    value: Any
    exit: Any = None
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()
    timeout: float = 120.0
    meanwhile: tuple[When, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    agents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """A small repository, a scripted model, a plan of faults, and what has to come of it."""

    name: str
    title: str
    proves: tuple[str, ...]
    rows: tuple[str, ...]
    ci: bool
    agents: tuple[str, ...]
    files: dict[str, str]
    executable: tuple[str, ...]
    ignored: dict[str, str]
    programs: dict[str, str]
    needs: tuple[str, ...]
    settings: str
    before: tuple[str, ...]
    after_init: tuple[str, ...]
    env: dict[str, str]
    roles: tuple[Role, ...]
    steps: tuple[Step, ...]
    shop: dict[str, Any]
    github: dict[str, Any]
    expect: dict[str, Any]
    peer: dict[str, Any]


ACTS = ("write", "edit", "shell", "read", "mcp", "ask", "blocked", "done", "say")
STEPS = ("run", "answer", "sh", "sleep")
EXPECT = {
    "exit", "least", "calls_max", "questions", "says", "never_says", "report", "report_never",
    "inbox", "inbox_never", "choices", "choices_never", "recommended_never", "files", "has", "lacks",
    "built", "green", "charges", "pushed", "pulls", "prompts", "person_changes", "secrets",
    "seconds_max", "log", "log_never", "status", "status_never", "branch", "landed", "person_has",
    "person_lacks", "prompt_bytes_max",
    "gap_min", "gap_max", "agents", "served", "left_seconds_max", "end_seconds_max",
}
KNOWN = {
    "title", "proves", "rows", "ci", "agents", "base", "files", "executable", "ignored", "programs", "needs",
    "settings", "before", "after_init", "env", "model", "step", "shop", "github", "expect", "goal",
    "max_wait", "peer", "tasks",
}

ROW = re.compile(r"^\| (T\d\.\d+|TX\d+|B\d+) \|", re.MULTILINE)
"""The beginning of a row of docs/behaviours.md."""


def rows_of(page: Path) -> frozenset[str]:
    """The rows that a scenario may say it proves."""
    return frozenset(ROW.findall(page.read_text(encoding="utf-8")))


def read(path: Path, bases: Path, rows: frozenset[str]) -> Scenario:
    """Reads a scenario, with the repository it is based on."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        _only(raw.get("rows", []), rows, "row")
        return _scenario(path.stem, raw, bases)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, Wrong) as error:
        raise Wrong(f"{path.name}: {error}") from error


def read_all(folder: Path, bases: Path, rows: frozenset[str]) -> list[Scenario]:
    """Reads every scenario of a folder, by name."""
    return [read(path, bases, rows) for path in sorted(folder.glob("*.toml"))]


def _scenario(name: str, raw: dict[str, Any], bases: Path) -> Scenario:
    _only(raw, KNOWN, "key")
    _only(raw.get("expect", {}), EXPECT, "key of [expect]")
    base = _base(raw.get("base"), bases)
    return Scenario(
        name=name,
        title=raw["title"],
        proves=tuple(raw["proves"]),
        rows=tuple(raw.get("rows", [])),
        ci=raw.get("ci", False),
        agents=tuple(raw.get("agents", AGENTS)),
        files={**base.get("files", {}), **raw.get("files", {})},
        executable=tuple([*base.get("executable", []), *raw.get("executable", [])]),
        ignored=raw.get("ignored", {}),
        programs=raw.get("programs", {}),
        needs=tuple(raw.get("needs", [])),
        settings=raw.get("settings", ""),
        before=tuple(raw.get("before", [])),
        after_init=tuple(raw.get("after_init", [])),
        env=raw.get("env", {}),
        roles=tuple(_role(role) for role in raw.get("model", [])),
        steps=_steps(raw),
        shop=raw.get("shop", {}),
        github=raw.get("github", {}),
        expect=raw.get("expect", {}),
        peer=raw.get("peer", {}),
    )


def _base(name: str | None, bases: Path) -> dict[str, Any]:
    if name is None:
        return {}
    return tomllib.loads((bases / f"{name}.toml").read_text(encoding="utf-8"))


def _only(raw: Iterable[str], known: Set[str], what: str) -> None:
    unknown = sorted(set(raw) - known)
    if unknown:
        raise Wrong(f"unknown {what}: {', '.join(unknown)}")


def _role(raw: dict[str, Any]) -> Role:
    attempts = [tuple(_item(item) for item in items) for items in raw["attempts"]]
    return Role(task=raw.get("task", ""), attempts=tuple(attempts))


def _item(raw: dict[str, Any] | list[dict[str, Any]]) -> Turn | Fault:
    if isinstance(raw, list):
        return Turn(tuple(_act(act) for act in raw))
    if "fault" in raw:
        named = {key: value for key, value in raw.items() if key != "fault"}
        return Fault(name=str(raw["fault"]), **named)
    of_act = {key: value for key, value in raw.items() if key not in ("pause", "stop", "tokens")}
    return Turn((_act(of_act),), float(raw.get("pause", 0.0)), raw.get("stop", ""), raw.get("tokens", 0))


def _act(raw: dict[str, Any]) -> Act:
    for kind in ACTS:
        if kind in raw:
            more = {key: value for key, value in raw.items() if key != kind}
            return Act(kind, raw[kind], more)
    raise Wrong(f"no act in {raw}; one of {', '.join(ACTS)}")


def _steps(raw: dict[str, Any]) -> tuple[Step, ...]:
    if "step" in raw:
        return tuple(_step(step) for step in raw["step"])
    work = raw["tasks"] if "tasks" in raw else [raw["goal"]]
    arguments = ["run", *work, "--max-wait", str(raw.get("max_wait", "0"))]
    return (Step("run", arguments, exit=raw.get("expect", {}).get("exit")),)


def _step(raw: dict[str, Any]) -> Step:
    kind = next((kind for kind in STEPS if kind in raw), None)
    if kind is None:
        raise Wrong(f"no kind of step in {raw}")
    meanwhile = tuple(_when(when) for when in raw.get("meanwhile", []))
    return Step(
        kind=kind,
        value={**raw} if kind == "answer" else raw[kind],
        exit=raw.get("exit"),
        says=tuple(raw.get("says", [])),
        never_says=tuple(raw.get("never_says", [])),
        timeout=float(raw.get("timeout", 120.0)),
        meanwhile=meanwhile,
        env=raw.get("env", {}),
        agents=tuple(raw.get("agents", [])),
    )


def _when(raw: dict[str, Any]) -> When:
    more = {key: value for key, value in raw.items() if key not in ("when", "do")}
    return When(raw["when"], raw["do"], more)
