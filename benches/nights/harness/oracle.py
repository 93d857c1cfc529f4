"""Looks from outside at what a night came to, and says what differs from what has to be."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import processes
from harness.play import Played, Player, fits, of_agent
from harness.service import Seen, Service
from harness.stage import GITHUB_TOKEN, KEYS, Stage

CALLS_FACTOR = 1.15
LEFT_SECONDS_MAX = 2.0


@dataclass
class Verdict:
    """What one run came to."""

    scenario: str
    agent: str
    wrong: list[str] = field(default_factory=list)
    calls: int = 0
    least: int | None = None
    seconds: float = 0.0
    false_done: bool = False
    twice: bool = False
    leaked: bool = False
    left: bool = False


class Oracle:
    """Judges one run. Every `_see_` method looks at one thing."""

    def __init__(self, stage: Stage, service: Service, player: Player) -> None:
        self._stage = stage
        self._service = service
        self._player = player
        self._expect = stage.scenario.expect
        self._wrong: list[str] = []

    def judge(self, played: Played, seconds: float) -> Verdict:
        """Looks at everything."""
        verdict = Verdict(self._stage.scenario.name, self._stage.agent, seconds=seconds)
        self._wrong = list(played.wrong)
        verdict.left = self._see_processes()
        self._see_exit(played)
        self._see_calls(verdict)
        self._see_texts(played)
        verdict.false_done = self._see_work(played)
        self._see_prompts()
        verdict.twice = self._see_outside()
        self._see_person()
        verdict.leaked = self._see_secrets(played)
        verdict.wrong = self._wrong
        return verdict

    def _say(self, wrong: str) -> None:
        self._wrong.append(wrong)

    def _of_agent(self, value: Any) -> Any:
        return of_agent(value, self._stage.agent)

    def _see_exit(self, played: Played) -> None:
        wanted = self._of_agent(self._expect.get("exit"))
        last = played.ran[-1] if played.ran else None
        already = any(" ended with " in wrong or " did not end " in wrong for wrong in self._wrong)
        if last is not None and not fits(last.exit, wanted) and not already:
            self._say(f"exit {last.exit}, not {wanted}")
        limit = self._expect.get("seconds_max")
        spent = sum(ran.seconds for ran in played.ran)
        if limit is not None and spent > limit:
            self._say(f"took {spent:.1f} s, more than {limit} s")
        seen, end_max = self._service.seen(), self._expect.get("end_seconds_max")
        if end_max is not None and last is not None and seen and last.ended - seen[-1].at > end_max:
            self._say(f"ended {last.ended - seen[-1].at:.1f} s after the last call, more than {end_max} s")

    def _see_calls(self, verdict: Verdict) -> None:
        seen = self._service.seen()
        verdict.calls = len(seen)
        verdict.least = self._of_agent(self._expect.get("least"))
        if verdict.least is not None and verdict.calls > int(verdict.least * CALLS_FACTOR):
            self._say(f"{verdict.calls} calls, at least {verdict.least} needed")
        most = self._of_agent(self._expect.get("calls_max"))
        if most is not None and verdict.calls > most:
            self._say(f"{verdict.calls} calls, at most {most} allowed")
        gaps = [later.at - sooner.at for sooner, later in zip(seen, seen[1:]) if sooner.served.startswith("fault")]
        least = self._expect.get("gap_min")
        if least is not None and gaps and min(gaps) < least:
            self._say(f"asked again after {min(gaps):.1f} s, not after {least} s")
        widest = self._expect.get("gap_max")
        if widest is not None and gaps and max(gaps) > widest:
            self._say(f"waited {max(gaps):.1f} s, more than {widest} s")
        largest = max((len("".join(request.humans)) for request in seen), default=0)
        if largest > self._expect.get("prompt_bytes_max", largest):
            self._say(f"a prompt has {largest} characters")
        for wanted in self._expect.get("served", []):
            if not any(wanted in request.body for request in seen):
                self._say(f"no request held {wanted!r}")

    # --- What a person can read ---

    def _see_texts(self, played: Played) -> None:
        self._texts("the terminal", played.output, "says", "never_says")
        questions = self._player.questions()
        shown = "\n".join(self._player.show(question) for question in questions)
        asked = "\n".join([shown, *played.asked])
        self._texts("the inbox", asked, "inbox", "inbox_never")
        self._see_choices(questions, asked)
        wanted = self._expect.get("questions")
        if wanted is not None and len(questions) != wanted:
            self._say(f"{len(questions)} open questions, not {wanted}")
        for name, arguments in (("report", ["report"]), ("log", ["log"]), ("status", ["status"])):
            if name in self._expect or f"{name}_never" in self._expect:
                said = self._player.unstuck(*arguments)
                self._texts(f"`unstuck {name}`", said.stdout + said.stderr, name, f"{name}_never")

    def _texts(self, what: str, text: str, has: str, never: str) -> None:
        flat = " ".join(text.split())
        for wanted in self._expect.get(has, []):
            if not _holds(flat, self._stage.fill(wanted)):
                self._say(f"{what} does not hold {wanted!r}")
        for unwanted in self._expect.get(never, []):
            if _holds(flat, self._stage.fill(unwanted)):
                self._say(f"{what} holds {unwanted!r}")

    def _see_choices(self, questions: list[dict[str, Any]], asked: str) -> None:
        offered = {str(option.get("value")) for question in questions for option in question.get("options", [])}
        for wanted in self._expect.get("choices", []):
            if wanted not in offered:
                self._say(f"the choice {wanted!r} is not offered, only {', '.join(sorted(offered)) or 'none'}")
        for unwanted in self._expect.get("choices_never", []):
            if unwanted in offered:
                self._say(f"the choice {unwanted!r} is offered")
        recommended = {str(question.get("recommendation") or question.get("recommended")) for question in questions}
        for unwanted in self._expect.get("recommended_never", []):
            if unwanted in recommended:
                self._say(f"{unwanted!r} is recommended")

    # --- What was built ---

    def _see_work(self, played: Played) -> bool:
        branch = self._expect.get("branch", "unstuck/b0")
        tip = self._stage.git("rev-parse", "--verify", "-q", branch, check=False).strip()
        built = bool(tip) and tip != self._stage.base
        wanted = self._expect.get("built")
        if wanted is not None and built != wanted:
            self._say("nothing was built" if wanted else f"{branch} has work that must not be there")
        if built:
            self._see_files(tip)
        elif self._expect.get("files"):
            self._say("nothing was built")
        green = self._is_green(tip) if "green" in self._expect and tip else built
        claims = bool(played.ran) and played.ran[-1].exit == 0
        if "green" in self._expect and not green and (wanted is not False):
            self._say(f"`{self._expect['green']}` is red on {branch}")
        completable = fits(0, self._of_agent(self._expect.get("exit", 0)))
        return claims and (not completable or ("green" in self._expect and not green))

    def _see_files(self, tip: str) -> None:
        changed = self._stage.git("diff", "--name-only", f"{self._stage.base}..{tip}").split()
        if "files" in self._expect and sorted(changed) != sorted(self._expect["files"]):
            self._say(f"changed {_few(changed)}, not {_few(self._expect['files'])}")
        for name, text in self._expect.get("has", {}).items():
            if text not in self._stage.git("show", f"{tip}:{name}", check=False):
                self._say(f"{name} does not hold {text!r}")
        for name, text in self._expect.get("lacks", {}).items():
            if text in self._stage.git("show", f"{tip}:{name}", check=False):
                self._say(f"{name} holds {text!r}")

    def _is_green(self, tip: str) -> bool:
        """Runs the check in a fresh checkout of what was built."""
        place = self._stage.root / "fresh"
        shutil.rmtree(place, ignore_errors=True)
        self._stage.git("clone", "--quiet", str(self._stage.repo), str(place))
        git = ["git", "-c", "protocol.file.allow=always", "-C", str(place)]
        subprocess.run([*git, "checkout", "--quiet", tip], check=True, capture_output=True)
        subprocess.run([*git, "submodule", "--quiet", "update", "--init"], check=False, capture_output=True)
        check = ["bash", "-c", self._stage.fill(self._expect["green"])]
        env = {"PATH": f"{self._stage.root / 'bin'}:{os.defpath}", "HOME": str(self._stage.root / "home")}
        return subprocess.run(check, cwd=place, env=env, capture_output=True, check=False).returncode == 0

    # --- What the model was told ---

    def _see_prompts(self) -> None:
        seen = self._service.seen()
        for prompt in self._expect.get("prompts", []):
            if prompt.get("agents") and self._stage.agent not in prompt["agents"]:
                continue
            text = _told(seen, prompt)
            where = f"the prompt of attempt {prompt.get('attempt', 0)}"
            if text is None:
                self._say(f"{where} never came")
                continue
            for wanted in prompt.get("has", []):
                if not _holds(text, self._stage.fill(wanted)):
                    self._say(f"{where} does not hold {wanted!r}")
            for unwanted in prompt.get("never", []):
                if _holds(text, self._stage.fill(unwanted)):
                    self._say(f"{where} holds {unwanted!r}")
            first = prompt.get("first")
            if first is not None and not _comes_first(text, first, prompt["before"]):
                self._say(f"{where} does not say {first!r} before {prompt['before']!r}")

    # --- The world outside ---

    def _see_outside(self) -> bool:
        twice = False
        for order, wanted in self._expect.get("charges", {}).items():
            came = self._service.outside.charges.get(order, 0)
            if came != wanted:
                self._say(f"{order} was charged {came} times, not {wanted}")
            twice = twice or came > max(wanted, 1)
        pulls = len(self._service.outside.pulls)
        if "pulls" in self._expect and pulls != self._expect["pulls"]:
            self._say(f"{pulls} pull requests, not {self._expect['pulls']}")
        if "pushed" in self._expect:
            heads = self._stage.git("ls-remote", str(self._stage.remote), "refs/heads/unstuck/*", check=False)
            if bool(heads.strip()) != self._expect["pushed"]:
                self._say("the branch was not pushed" if self._expect["pushed"] else "the branch was pushed")
        return twice

    def _see_person(self) -> None:
        """The person's own tree and branch are as they left them."""
        if self._expect.get("landed"):
            return
        head = self._stage.git("rev-parse", "HEAD", check=False).strip()
        if head != self._stage.base:
            self._say("the person's branch has moved")
        changed = {line[3:] for line in self._stage.git("status", "--porcelain").splitlines()}
        unexpected = changed - set(self._expect.get("person_changes", []))
        if unexpected:
            self._say(f"the person's tree was changed: {_few(sorted(unexpected))}")
        for name, text in self._expect.get("person_lacks", {}).items():
            if text in (self._stage.repo / name).read_text():
                self._say(f"the person's {name} holds {text!r}")
        for name, text in self._expect.get("person_has", {}).items():
            if text not in (self._stage.repo / name).read_text():
                self._say(f"the person's {name} does not hold {text!r}")

    def _see_secrets(self, played: Played) -> bool:
        """No key is anywhere but where the person put it."""
        secrets = [KEYS[self._stage.agent][1], GITHUB_TOKEN, *self._expect.get("secrets", [])]
        places = {"the terminal": played.output.encode(), "the inbox": "\n".join(played.asked).encode()}
        places["the report"] = self._player.unstuck("report").stdout.encode()
        places["a prompt"] = "\n".join(request.body for request in self._service.seen()).encode()
        leaked = False
        for secret in secrets:
            for place, data in places.items():
                if secret.encode() in data:
                    self._say(f"a secret is in {place}")
                    leaked = True
            for path in _files(self._stage.repo / ".unstuck"):
                if secret.encode() in path.read_bytes():
                    self._say(f"a secret is in {path.relative_to(self._stage.repo)}")
                    leaked = True
        return leaked

    def _see_processes(self) -> bool:
        seconds_max = self._expect.get("left_seconds_max", LEFT_SECONDS_MAX)
        left = processes.left_after(self._stage.root, seconds_max)
        if left:
            self._say(f"left running: {'; '.join(process.command for process in left[:3])}")
            processes.end(left)
        return bool(left)


def _files(folder: Path) -> list[Path]:
    # Worktrees hold what the repository holds, and what agents are given stays theirs.
    skipped = {"worktrees", "fresh"}
    return [path for path in folder.rglob("*") if path.is_file() and not skipped & set(path.parts)]


def _holds(text: str, wanted: str) -> bool:
    """Whether a text holds another, or one of several; line breaks and the case of letters do not matter."""
    flat = " ".join(text.split()).lower()
    return any(" ".join(one.split()).lower() in flat for one in wanted.split("||"))


def _told(seen: list[Seen], prompt: dict[str, Any]) -> str | None:
    """What was new to the model at the beginning of one attempt."""
    task, attempt = prompt.get("task", ""), prompt.get("attempt", 0)
    requests = [request for request in seen if task in request.task or task in "\n".join(request.humans)]
    if attempt == "any":
        return "\n".join("\n".join(request.humans) for request in requests) or None
    attempt = int(attempt)
    mine = [request for request in requests if request.attempt == attempt]
    if not mine:
        return None
    earlier = [request for request in requests if request.attempt < attempt]
    before = [text for request in earlier for text in request.humans]
    new = [text for text in mine[0].humans if text not in before]
    if prompt.get("whole"):
        return mine[-1].body
    return "\n".join(new)


def _comes_first(text: str, first: str, later: str) -> bool:
    at = text.find(first)
    return 0 <= at and (later not in text or at < text.find(later))


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:4]) or "nothing"
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
