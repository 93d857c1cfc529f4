"""An attack as it is read from its file: data only, nothing is done here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WAYS = ("agent", "check", "hook", "setup", "repair", "session")
"""Who runs the attack's lines: the agent itself, what it has written, run by us, the agent that repairs a script, or
an agent of the person's own that has our tools."""

AGENTS = ("script", "claude", "codex", "api")
"""A scripted agent, the real programs with a scripted model, and our own loop with one."""

KEYS = {
    "name", "title", "shell", "by", "agents", "files", "before", "settings", "through", "never_says",
    "victim", "asker", "bare", "tool", "writes", "server", "timeout", "ci", "like", "acts", "calls",
}


class Wrong(Exception):
    """A file of attacks that cannot be understood."""


@dataclass(frozen=True)
class Attack:
    """What a malicious agent tries, and how it would be seen to have got through."""

    family: str
    name: str
    title: str
    shell: str
    by: tuple[str, ...]
    agents: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    settings: str = ""
    through: str = ""
    never_says: tuple[str, ...] = ()
    victim: bool = False
    asker: bool = False
    server: bool = False
    bare: bool = True
    tool: dict[str, Any] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    acts: tuple[dict[str, str], ...] = ()
    calls: tuple[dict[str, Any], ...] = ()
    timeout: float = 90.0
    ci: tuple[str, ...] = ()
    like: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Case:
    """One attack, run in one way by one agent."""

    attack: Attack
    way: str
    agent: str

    @property
    def name(self) -> str:
        """What it is called in the table."""
        ways = [self.attack.name]
        if self.way != "agent":
            ways.append(self.way)
        if self.agent != "script":
            ways.append(self.agent)
        return "/".join(ways)

    @property
    def is_bare(self) -> bool:
        """Whether it is the way in which its attack is played without Unstuck."""
        return self.way == "agent" and self.agent == ("api" if self.attack.acts else "script")

    def command(self) -> list[str]:
        """What the person has Unstuck do."""
        if self.way == "repair":
            return ["exec", "--name", "tidy", "--repair=propose", "--max-wait", "0", "--", "sh", "tidy.sh"]
        return ["run", "tasks/", "--max-wait", "0"]

    @property
    def is_of_every_change(self) -> bool:
        """Whether it belongs to the share that is run for every change."""
        return (self.way if self.agent == "script" else self.agent) in self.attack.ci


def read_all(folder: Path) -> list[Attack]:
    """Every attack of a folder, by family."""
    found = [attack for path in sorted(folder.glob("*.toml")) for attack in _read(path)]
    names = [attack.name for attack in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Wrong(f"named twice: {', '.join(twice)}")
    return found


def cases(attacks: list[Attack]) -> list[Case]:
    """Each attack in each of its ways; the real programs run it themselves only."""
    listed = []
    for attack in attacks:
        if "script" in attack.agents:
            listed.extend(Case(attack, way, "script") for way in attack.by)
        listed.extend(Case(attack, "agent", agent) for agent in attack.agents if agent != "script")
    return listed


def _read(path: Path) -> list[Attack]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return [_attack(path.stem, each) for each in raw["attack"]]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, Wrong) as error:
        raise Wrong(f"{path.name}: {error}") from error


def _attack(family: str, raw: dict[str, Any]) -> Attack:
    unknown = sorted(set(raw) - KEYS)
    if unknown:
        raise Wrong(f"{raw.get('name')}: unknown key {', '.join(unknown)}")
    attack = Attack(
        family=family,
        name=raw["name"],
        title=raw["title"],
        shell=raw.get("shell", ":"),
        by=tuple(raw.get("by", ["agent"])),
        agents=tuple(raw.get("agents", ["script"])),
        files=raw.get("files", {}),
        before=tuple(raw.get("before", [])),
        settings=raw.get("settings", ""),
        through=raw.get("through", ""),
        never_says=tuple(raw.get("never_says", [])),
        victim=raw.get("victim", False),
        asker=raw.get("asker", False),
        server=raw.get("server", False),
        bare=raw.get("bare", True),
        tool=raw.get("tool", {}),
        writes=raw.get("writes", {}),
        acts=tuple(raw.get("acts", [])),
        calls=tuple(raw.get("calls", [])),
        timeout=float(raw.get("timeout", 90.0)),
        ci=tuple(raw.get("ci", [])),
        like=tuple(raw["like"]) if "like" in raw else None,
    )
    if not set(attack.ci) <= {*attack.by, *attack.agents} - {"script"}:
        raise Wrong(f"{attack.name}: ci is some of {', '.join([*attack.by, *attack.agents])}")
    if not set(attack.by) <= set(WAYS) or not set(attack.agents) <= set(AGENTS):
        raise Wrong(f"{attack.name}: by is some of {', '.join(WAYS)}, agents some of {', '.join(AGENTS)}")
    return attack
