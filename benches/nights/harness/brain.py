"""The scripted model: which answer a conversation gets, whatever wire it comes by."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field, replace

from harness.scenario import Act, Fault, Role, Turn

CONTINUED = ("Go on with a tool.", "Note: ")
"""How words of the supervisor begin that ask for nothing new."""

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


@dataclass(frozen=True)
class Conversation:
    """What a request holds, as far as an answer depends on it."""

    wire: str
    model: str
    streaming: bool
    humans: tuple[str, ...]
    assistants: int
    tools: frozenset[str]
    system: str


@dataclass(frozen=True)
class Answer:
    """What the service says: a turn or a fault, and whose it is."""

    task: str
    attempt: int
    item: Turn | Fault


@dataclass
class _Progress:
    """How far the model is with one task."""

    attempt: int = 0
    position: int = 0
    answered: int = 0
    asked: tuple[str, ...] | None = None
    assistants: int = -1
    failed: bool = False
    unheard: bool = False
    served: dict[tuple[int, int], int] = field(default_factory=dict)
    began: dict[tuple[int, int], float] = field(default_factory=dict)


LAST = Turn((Act("done", "Done."),))
"""What a model says whose script is at its end."""


class Brain:
    """Finds the next answer for a conversation. Safe to be asked from many threads."""

    def __init__(self, roles: tuple[Role, ...]) -> None:
        self._roles = roles
        self._progress: dict[str, _Progress] = {}
        self._lock = threading.Lock()

    def answer(self, conversation: Conversation) -> Answer:
        """The next answer of the task that the conversation is about."""
        asked = _asked(conversation.humans)
        with self._lock:
            role = self._role(asked)
            progress = self._progress.setdefault(role.task, _Progress())
            _move(progress, asked, conversation.assistants)
            item = _next(role, progress)
            progress.failed = isinstance(item, Fault)
            if progress.unheard and isinstance(item, Turn):
                # It was waited for once already.
                progress.unheard = False
                item = replace(item, pause=0.0)
            return Answer(role.task, progress.attempt, item)

    def undelivered(self, task: str) -> None:
        """The client was gone before it had the answer: it counts as a fault."""
        with self._lock:
            progress = self._progress[task]
            if not progress.failed:
                progress.failed = True
                progress.position -= 1
                progress.answered -= 1
                progress.unheard = True

    def _role(self, asked: tuple[str, ...]) -> Role:
        text = "\n".join(asked)
        for role in self._roles:
            if role.task in text:
                return role
        return Role("(no script)", ((LAST,),))


def _asked(humans: tuple[str, ...]) -> tuple[str, ...]:
    """What people or the supervisor asked for, without reminders and nudges."""
    texts = (REMINDER.sub("", text).strip() for text in humans)
    return tuple(text for text in texts if text and not text.startswith(CONTINUED))


def _move(progress: _Progress, asked: tuple[str, ...], assistants: int) -> None:
    """Begins the next attempt where the request does not go on with the last one.

    What a fault has cut goes on where it was.
    """
    anew = progress.asked != asked or assistants <= progress.assistants
    if anew and not progress.failed and progress.answered > 0:
        progress.attempt += 1
        progress.position = 0
        progress.answered = 0
    progress.asked = asked
    progress.assistants = assistants


def _lasts(fault: Fault, at: tuple[int, int], progress: _Progress) -> bool:
    """Whether a fault meets one more request. One that is over stays over when the last attempt is repeated."""
    if fault.for_seconds is not None:
        now = time.monotonic()
        return now < progress.began.setdefault(at, now) + fault.for_seconds
    progress.served[at] = progress.served.get(at, 0) + 1
    return fault.times == 0 or progress.served[at] <= fault.times


def _next(role: Role, progress: _Progress) -> Turn | Fault:
    script = min(progress.attempt, len(role.attempts) - 1)
    items = role.attempts[script]
    while progress.position < len(items):
        item = items[progress.position]
        if isinstance(item, Turn):
            break
        at = (script, progress.position)
        if _lasts(item, at, progress):
            return item
        progress.position += 1
    progress.position += 1
    progress.answered += 1
    return items[progress.position - 1] if progress.position <= len(items) else LAST
