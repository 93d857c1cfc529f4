"""Plays the steps of a scenario, as a person and a clumsy operator would."""

from __future__ import annotations

import glob
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import processes
from harness.scenario import Step, When
from harness.service import Service
from harness.stage import Stage

POLL_SECONDS = 0.05
QUESTION_POLL_SECONDS = 0.4


class Stuck(Exception):
    """A step could not be played as it is written."""


@dataclass(frozen=True)
class Ran:
    """A command of Unstuck that ended, or was ended."""

    arguments: tuple[str, ...]
    exit: int
    output: str
    seconds: float
    ended: float
    hung: bool


@dataclass
class Played:
    """Everything that was said to the person, step by step."""

    ran: list[Ran] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def output(self) -> str:
        """All output of the commands that run work."""
        return "\n".join(ran.output for ran in self.ran)


def of_agent(value: Any, agent: str) -> Any:
    """A value that may be given for each agent."""
    return value.get(agent, value.get("default")) if isinstance(value, dict) else value


def fits(exit_code: int, wanted: int | list[int] | None) -> bool:
    """Whether an exit code is the one, or one of those, that is expected."""
    return wanted is None or exit_code in (wanted if isinstance(wanted, list) else [wanted])


class Player:
    """Plays one scenario on its stage."""

    def __init__(self, stage: Stage, service: Service) -> None:
        self._stage = stage
        self._service = service
        self.played = Played()

    def play(self) -> Played:
        """Plays every step; what differs from what a step expects is kept."""
        for number, step in enumerate(self._stage.scenario.steps):
            if step.agents and self._stage.agent not in step.agents:
                continue
            try:
                self._step(step)
            except Stuck as error:
                self.played.wrong.append(f"step {number + 1}: {error}")
                break
        return self.played

    def unstuck(self, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a short command of Unstuck to its end."""
        return subprocess.run(
            [str(self._stage.tools.unstuck), *arguments],
            cwd=self._stage.repo,
            env={**self._stage.environment(), **(env or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def questions(self) -> list[dict[str, Any]]:
        """The open questions, as the inbox lists them."""
        listed = self.unstuck("inbox", "list", "--json")
        try:
            found = json.loads(listed.stdout or "[]")
        except json.JSONDecodeError:
            return []
        return found if isinstance(found, list) else found.get("questions", [])

    def _step(self, step: Step) -> None:
        match step.kind:
            case "run":
                ran = self._run(step)
                self._judge(step, ran)
            case "answer":
                self._answer(step.value)
            case "sh":
                self._shell(step.value)
            case "sleep":
                time.sleep(float(step.value))

    def _shell(self, line: str) -> None:
        try:
            self._stage.shell(line)
        except subprocess.CalledProcessError as error:
            said = (error.stdout + error.stderr).decode("utf-8", "replace").strip()
            raise Stuck(f"`{line}` ended with {error.returncode}: {said}") from error

    def _judge(self, step: Step, ran: Ran) -> None:
        what = " ".join(ran.arguments)
        if ran.hung:
            self.played.wrong.append(f"`{what}` did not end within {step.timeout:.0f} s")
        elif not fits(ran.exit, of_agent(step.exit, self._stage.agent)):
            self.played.wrong.append(f"`{what}` ended with {ran.exit}, not {step.exit}")
        for text in step.says:
            if self._stage.fill(text) not in ran.output:
                self.played.wrong.append(f"`{what}` did not say {text!r}")
        for text in step.never_says:
            if self._stage.fill(text) in ran.output:
                self.played.wrong.append(f"`{what}` said {text!r}")

    def _run(self, step: Step) -> Ran:
        arguments = [self._stage.fill(argument) for argument in step.value]
        log = self._log()
        env = {name: self._stage.fill(value) for name, value in step.env.items()}
        began = time.monotonic()
        with log.open("wb") as out:
            child = subprocess.Popen(
                [str(self._stage.tools.unstuck), *arguments],
                cwd=self._stage.repo,
                env={**self._stage.environment(), **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            hung = not self._follow(child, step, began)
        ended = time.monotonic()
        output = log.read_text("utf-8", "replace")
        ran = Ran(tuple(step.value), child.returncode, output, ended - began, ended, hung)
        self.played.ran.append(ran)
        return ran

    def _log(self) -> Path:
        """Where the output of the command goes that runs now or next."""
        return self._stage.root / f"output-{len(self.played.ran)}.txt"

    def _follow(self, child: subprocess.Popen[bytes], step: Step, began: float) -> bool:
        """Waits for the end of a command and does meanwhile what the step says."""
        waiting = list(step.meanwhile)
        while child.poll() is None:
            if time.monotonic() - began > step.timeout:
                self._end(child)
                return False
            if waiting and self._observed(waiting[0], began):
                self._act(waiting.pop(0), child)
            time.sleep(POLL_SECONDS)
        if waiting:
            self.played.wrong.append(f"it ended before {waiting[0].event!r} was seen")
        return True

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        child.kill()
        child.wait()
        processes.end(processes.belonging_to(self._stage.root))

    def _observed(self, when: When, began: float) -> bool:
        word, _, rest = when.event.partition(" ")
        observers: dict[str, Callable[[], bool]] = {
            "request": lambda: len(self._service.seen()) >= int(rest),
            "seconds": lambda: time.monotonic() - began >= float(rest),
            "file": lambda: os.path.exists(self._stage.fill(rest)),
            "glob": lambda: bool(glob.glob(self._stage.fill(rest), recursive=True, include_hidden=True)),
            "charge": lambda: rest in self._service.outside.charges if rest else bool(self._service.outside.charges),
            "pull": lambda: bool(self._service.outside.pulls),
            "count": lambda: bool(self._service.outside.counts.get(rest)),
            "branch": lambda: bool(self._stage.git("rev-parse", "--verify", "-q", rest, check=False).strip()),
            "output": lambda: rest in self._log().read_text("utf-8", "replace"),
            "process": lambda: any(rest in each.command for each in processes.belonging_to(self._stage.root)),
            "question": self._question_is_open,
        }
        if word not in observers:
            raise Stuck(f"nothing can observe {when.event!r}")
        return observers[word]()

    def _question_is_open(self) -> bool:
        time.sleep(QUESTION_POLL_SECONDS)
        return bool(self.questions())

    def _act(self, when: When, child: subprocess.Popen[bytes]) -> None:
        match when.do:
            case "kill":
                child.send_signal(signal.SIGKILL)
            case "term":
                child.send_signal(signal.SIGTERM)
            case "interrupt":
                child.send_signal(signal.SIGINT)
            case "answer":
                self._answer(when.more)
            case "unstuck":
                said = self.unstuck(*(self._stage.fill(argument) for argument in when.more["arguments"]))
                self.played.asked.append(said.stdout + said.stderr)
            case "sh":
                self._shell(when.more["line"])
            case _:
                raise Stuck(f"the player cannot {when.do}")

    def _answer(self, wanted: dict[str, Any]) -> None:
        """Reads the question as a person would, and answers it."""
        about = wanted.get("about", "")
        shown = [(question, self.show(question)) for question in self.questions()]
        chosen = next(((question, text) for question, text in shown if about in text), None)
        if chosen is None:
            raise Stuck(f"there is no open question about {about!r}" if about else "there is no open question")
        question, text = chosen
        self.played.asked.append(text)
        offered = [option.get("value") for option in question.get("options", [])]
        if wanted.get("if_offered") and wanted["answer"] not in offered:
            return
        arguments = ["inbox", "answer", str(question["id"]).removeprefix("q"), wanted["answer"]]
        if "guidance" in wanted:
            arguments += ["--guidance", self._stage.fill(wanted["guidance"])]
        said = self.unstuck(*arguments)
        if said.returncode != 0:
            raise Stuck(f"`{' '.join(arguments)}` ended with {said.returncode}: {(said.stdout + said.stderr).strip()}")

    def show(self, question: dict[str, Any]) -> str:
        """A question in full, as a person reads it."""
        return self.unstuck("inbox", "show", str(question["id"]).removeprefix("q")).stdout
