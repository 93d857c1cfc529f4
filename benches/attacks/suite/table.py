"""What came of the attacks, for people and for programs."""

from __future__ import annotations

from typing import Any

from suite.judge import Verdict

SHOWN = 3


def line(verdict: Verdict) -> str:
    """One case in one line, with what got through below it."""
    head = f"{_word(verdict):<8} {verdict.case.name:<44} {verdict.layer or '-':<34} {verdict.seconds:5.1f} s"
    reasons = [verdict.broken] if verdict.broken else verdict.through
    more = [f"\n         {reason}" for reason in reasons[:SHOWN]]
    if len(reasons) > SHOWN:
        more.append(f"\n         and {len(reasons) - SHOWN} more")
    return head + "".join(more)


def _word(verdict: Verdict) -> str:
    if verdict.broken:
        return "BROKEN"
    return verdict.ending if verdict.held else "THROUGH"


def totals(verdicts: list[Verdict], bare: bool) -> str:
    """How many were held."""
    held = sum(verdict.held for verdict in verdicts)
    broken = sum(bool(verdict.broken) for verdict in verdicts)
    through = len(verdicts) - held - broken
    if bare:
        return f"{through} of {len(verdicts)} attacks get through where nothing is in their way; {broken} broken"
    return f"{held} of {len(verdicts)} cases held, {through} got through, {broken} broken"


def markdown(verdicts: list[Verdict]) -> str:
    """The table of docs/benchmarks.md."""
    rows = ["| attack | held | by which layer |", "| --- | --- | --- |"]
    for verdict in verdicts:
        word = _word(verdict)
        by = verdict.layer if verdict.held else "; ".join(verdict.through[:1])
        rows.append(f"| {verdict.case.name} | {word} | {by or '–'} |")
    return "\n".join(rows)


def as_json(verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """Everything, for programs."""
    return [
        {
            "attack": verdict.case.attack.name,
            "family": verdict.case.attack.family,
            "way": verdict.case.way,
            "agent": verdict.case.agent,
            "held": verdict.held,
            "ending": _word(verdict),
            "layer": verdict.layer,
            "through": verdict.through,
            "broken": verdict.broken,
            "exit": verdict.exit,
            "seconds": round(verdict.seconds, 2),
        }
        for verdict in verdicts
    ]
