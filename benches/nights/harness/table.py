"""What a suite came to, for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from harness.oracle import Verdict
from harness.peer import PeerResult
from harness.scenario import Scenario


def line(verdict: Verdict) -> str:
    """One run on one line, and what differs below it."""
    mark = "ok  " if not verdict.wrong else "FAIL"
    least = f"/{verdict.least}" if verdict.least is not None else ""
    calls = f"{verdict.calls:>3}{least:<4} calls"
    head = f"{mark} {verdict.scenario:<34} {verdict.agent:<6} {calls} {verdict.seconds:6.1f} s"
    return "\n".join([head, *(f"       {wrong}" for wrong in verdict.wrong)])


def peer_line(peer: PeerResult) -> str:
    """What the shell loop came to, on one line."""
    said = "; ".join(peer.wrong) or "as it has to be"
    return f"loop {peer.scenario:<34} {peer.agent:<6} {peer.calls:>3}     calls {peer.seconds:6.1f} s  {said}"


def totals(verdicts: list[Verdict]) -> str:
    """The sums by agent."""
    lines = []
    for agent in sorted({verdict.agent for verdict in verdicts}):
        mine = [verdict for verdict in verdicts if verdict.agent == agent]
        lines.append(
            f"{agent:<8} {sum(not verdict.wrong for verdict in mine)} of {len(mine)} as they have to be · "
            f"{sum(verdict.calls for verdict in mine)} calls · "
            f"false done {sum(verdict.false_done for verdict in mine)} · "
            f"done twice {sum(verdict.twice for verdict in mine)} · "
            f"secrets {sum(verdict.leaked for verdict in mine)} · "
            f"left running {sum(verdict.left for verdict in mine)} · "
            f"{sum(verdict.seconds for verdict in mine):.0f} s"
        )
    return "\n".join(lines)


NAMES = {
    "claude": "Claude Code",
    "codex": "Codex",
    "api": "our own loop, Anthropic API",
    "openai": "our own loop, OpenAI-compatible API",
}


HEAD = """\
| | scenarios as they have to be | calls (least) | false done | done twice | secrets leaked | processes left |
| --- | --- | --- | --- | --- | --- | --- |"""


def markdown(verdicts: list[Verdict], peers: list[PeerResult]) -> str:
    """The table of docs/benchmarks.md."""
    rows = [HEAD]
    for agent, name in NAMES.items():
        mine = [verdict for verdict in verdicts if verdict.agent == agent]
        if mine:
            rows.append(_row(f"Unstuck with {name}", mine, str(sum(verdict.leaked for verdict in mine))))
    for agent, name in NAMES.items():
        theirs = [peer for peer in peers if peer.agent == agent]
        if theirs:
            rows.append(_row(f"a shell loop with {name}", theirs, "–"))
    return "\n".join(rows)


def _row(name: str, results: Sequence[Verdict | PeerResult], leaked: str) -> str:
    counted = [result for result in results if result.least is not None]
    figures = [
        f"{sum(not result.wrong for result in results)} of {len(results)}",
        f"{sum(result.calls for result in counted)} ({sum(result.least or 0 for result in counted)})",
        str(sum(result.false_done for result in results)),
        str(sum(result.twice for result in results)),
        leaked,
        str(sum(result.left for result in results)),
    ]
    return f"| {name} | {' | '.join(figures)} |"


def as_json(scenarios: list[Scenario], verdicts: list[Verdict], peers: list[PeerResult]) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "scenarios": {each.name: {"title": each.title, "proves": each.proves} for each in scenarios},
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "peers": [asdict(peer) for peer in peers],
    }
