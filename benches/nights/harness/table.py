"""What a suite came to, for a terminal and for a page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from harness.oracle import Verdict
from harness.peer import PeerResult
from harness.scenario import Scenario


def line(verdict: Verdict) -> str:
    """One run on one line, and what differs below it."""
    mark = "ok  " if not verdict.wrong else "FAIL"
    least = f"/{verdict.least}" if verdict.least is not None else ""
    head = f"{mark} {verdict.scenario:<34} {verdict.agent:<6} {verdict.calls:>3}{least:<4} calls {verdict.seconds:6.1f} s"
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


NAMES = {"claude": "Claude Code", "codex": "Codex", "api": "own loop, Anthropic API", "openai": "own loop, OpenAI-compatible API"}


def markdown(verdicts: list[Verdict], peers: list[PeerResult]) -> str:
    """The table of docs/benchmarks.md."""
    rows = [
        "| | scenarios as they have to be | calls (least) | false done | done twice | secrets leaked | processes left |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for agent in [agent for agent in NAMES if any(verdict.agent == agent for verdict in verdicts)]:
        mine = [verdict for verdict in verdicts if verdict.agent == agent]
        counted = [verdict for verdict in mine if verdict.least is not None]
        calls, least = sum(verdict.calls for verdict in counted), sum(verdict.least or 0 for verdict in counted)
        figures = [
            f"{sum(not verdict.wrong for verdict in mine)} of {len(mine)}",
            f"{calls} ({least})",
            *(str(sum(getattr(verdict, name) for verdict in mine)) for name in ("false_done", "twice", "leaked", "left")),
        ]
        rows.append(f"| Unstuck with {NAMES[agent]} | {' | '.join(figures)} |")
    for agent in [agent for agent in NAMES if any(peer.agent == agent for peer in peers)]:
        theirs = [peer for peer in peers if peer.agent == agent]
        good = sum(not peer.wrong for peer in theirs)
        counted = [peer for peer in theirs if peer.least is not None]
        calls, least = sum(peer.calls for peer in counted), sum(peer.least or 0 for peer in counted)
        twice, false_done, left = (sum(getattr(peer, name) for peer in theirs) for name in ("twice", "false_done", "left"))
        rows.append(f"| a shell loop with {NAMES[agent]} | {good} of {len(theirs)} | {calls} ({least}) | {false_done} | {twice} | – | {left} |")
    return "\n".join(rows)


def as_json(scenarios: list[Scenario], verdicts: list[Verdict], peers: list[PeerResult]) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "scenarios": {scenario.name: {"title": scenario.title, "proves": scenario.proves} for scenario in scenarios},
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "peers": [asdict(peer) for peer in peers],
    }
