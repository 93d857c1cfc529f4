"""What a model wants done, in each agent's own words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.brain import Conversation
from harness.scenario import Act, Turn


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Speech:
    """A turn in the words of one agent."""

    text: str
    calls: tuple[Call, ...]
    stop: str = ""
    tokens: int = 0


def speak(turn: Turn, conversation: Conversation, there: frozenset[str]) -> Speech:
    """A turn in the words of the agent that asks. `there` are files that an agent has to read first."""
    words = _speaker(conversation)
    text: list[str] = []
    calls: list[Call] = []
    for act in turn.acts:
        said, called = words(act, conversation, there)
        text.extend(said)
        calls.extend(called)
    return Speech("\n".join(text), tuple(calls), turn.stop, turn.tokens)


def filled(speech: Speech, fill: Callable[[str], str]) -> Speech:
    """A turn with the run's own addresses in it."""

    def put(value: Any) -> Any:
        match value:
            case str():
                return fill(value)
            case dict():
                return {key: put(inner) for key, inner in value.items()}
            case list():
                return [put(inner) for inner in value]
            case _:
                return value

    calls = tuple(Call(call.name, put(call.arguments)) for call in speech.calls)
    return replace(speech, text=fill(speech.text), calls=calls)


def _speaker(conversation: Conversation) -> Any:
    if "write_file" in conversation.tools:
        return _own
    if "Write" in conversation.tools or "Bash" in conversation.tools:
        return _claude
    return _codex


def _tool(act: Act) -> tuple[str, dict[str, Any]] | None:
    """A call of one of our own tools."""
    if act.kind == "mcp":
        return act.value, act.more.get("input", {})
    if act.kind == "ask":
        return "ask_human", {"question": act.value, **act.more}
    if act.kind == "blocked":
        return "task_blocked", {"reason": act.value}
    return None


def _own(act: Act, _: Conversation, __: frozenset[str]) -> tuple[list[str], list[Call]]:
    tool = _tool(act)
    if tool:
        return [], [Call(*tool)]
    match act.kind:
        case "write":
            return [], [Call("write_file", {"path": act.value, "content": act.more["text"]})]
        case "edit":
            return [], [Call("edit_file", {"path": act.value, **act.more})]
        case "shell":
            return [], [Call("run_command", {"command": act.value})]
        case "read":
            return [], [Call("read_file", {"path": act.value})]
        case "done":
            return [], [Call("task_done", {"summary": act.value})]
        case _:
            return [act.value], []


WORKING = re.compile(r"[Ww]orking directory: *(\S+)")


def _claude(act: Act, conversation: Conversation, there: frozenset[str]) -> tuple[list[str], list[Call]]:
    tool = _tool(act)
    if tool:
        return [], [Call(f"mcp__unstuck__{tool[0]}", tool[1])]
    found = WORKING.search(conversation.system + "\n".join(conversation.humans))
    folder = found.group(1) if found else "."
    path = f"{folder}/{act.value}"
    first = [Call("Read", {"file_path": path})] if act.value in there else []
    match act.kind:
        case "write":
            return [], [*first, Call("Write", {"file_path": path, "content": act.more["text"]})]
        case "edit":
            edit = {"file_path": path, "old_string": act.more["old"], "new_string": act.more["new"]}
            return [], [Call("Read", {"file_path": path}), Call("Edit", edit)]
        case "shell":
            return [], [Call("Bash", {"command": act.value, "description": "Run a command"})]
        case "read":
            return [], [Call("Read", {"file_path": path})]
        case _:
            return [act.value], []


def _codex(act: Act, _: Conversation, __: frozenset[str]) -> tuple[list[str], list[Call]]:
    tool = _tool(act)
    if tool:
        return [], [Call(f"mcp__unstuck__{tool[0]}", tool[1])]
    match act.kind:
        case "write":
            return [], [Call("exec_command", {"cmd": _written(act.value, act.more["text"])})]
        case "edit":
            return [], [Call("exec_command", {"cmd": _edited(act)})]
        case "shell":
            return [], [Call("exec_command", {"cmd": act.value})]
        case "read":
            return [], [Call("exec_command", {"cmd": f"cat {shlex.quote(act.value)}"})]
        case _:
            return [act.value], []


def _written(path: str, text: str) -> str:
    name = shlex.quote(path)
    return f"mkdir -p \"$(dirname {name})\" && printf %s {shlex.quote(text)} > {name}"


EDIT = """
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
assert old in text
open(path, "w").write(text.replace(old, new, 1))
"""


def _edited(act: Act) -> str:
    arguments = ["python3", "-c", EDIT, act.value, act.more["old"], act.more["new"]]
    return " ".join(shlex.quote(argument) for argument in arguments)
