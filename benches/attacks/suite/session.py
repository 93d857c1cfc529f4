"""An agent of the person's own that has our tools: a client of `unstuck mcp` outside every run."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from suite.place import Place

SECONDS_MAX = 60
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "evil", "version": "1"}}


def play(place: Place, calls: tuple[dict[str, Any], ...]) -> str:
    """Calls the tools, one after the other, and returns what was answered."""
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    for number, call in enumerate(calls, 1):
        params = {"name": call["name"], "arguments": call.get("input", {})}
        lines.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    said = subprocess.run(
        [str(place.tools.unstuck), "mcp"], cwd=place.repo, env=place.environment(), capture_output=True, text=True,
        input=place.fill("".join(json.dumps(line) + "\n" for line in lines)), timeout=SECONDS_MAX, check=False,
    )
    (place.world / "session.txt").write_text(said.stdout + said.stderr)
    return said.stdout
