"""The peer: a plain shell loop that feeds the check's output back to the same agent program."""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import processes
from harness.play import fits, of_agent
from harness.service import Service
from harness.stage import KEYS, Stage

ROUNDS = 4
SECONDS_MAX = 90.0

LOOP = r"""
set -u
feedback=""
for round in $(seq "$ROUNDS"); do
  "$AGENT_RUN" "$TASK$feedback" || true
  output=$(bash -c "$CHECK" 2>&1) && { git add -A && git commit -qm "$TASK" || true; exit 0; }
  feedback="

The check \`$CHECK\` failed:
$(printf '%s\n' "$output" | tail -n 40)"
done
exit 1
"""
"""One task: the agent, the check, its output to the agent, at most so many rounds."""

CLAUDE = """#!/bin/sh
exec claude -p "$1" --permission-mode acceptEdits --output-format json
"""

CODEX = """#!/bin/sh
exec codex exec -s workspace-write --skip-git-repo-check \\
  -c 'model_provider="night"' -c 'model_providers.night.name="night"' \\
  -c 'model_providers.night.wire_api="responses"' -c 'model_providers.night.env_key="OPENAI_API_KEY"' \\
  -c "model_providers.night.base_url=\\"$NIGHT_URL/v1\\"" -c 'check_for_update_on_startup=false' "$1"
"""

PROGRAMS = {"claude": CLAUDE, "codex": CODEX}


@dataclass
class PeerResult:
    """What the shell loop came to in one scenario."""

    scenario: str
    agent: str
    wrong: list[str] = field(default_factory=list)
    calls: int = 0
    least: int | None = None
    seconds: float = 0.0
    false_done: bool = False
    twice: bool = False
    left: bool = False


def takes_part(stage: Stage) -> bool:
    """Whether the loop can be asked to do this scenario at all: one goal and one check."""
    return stage.agent in PROGRAMS and bool(_goal(stage)) and not stage.scenario.peer.get("left_out", False)


def run(stage: Stage, service: Service) -> PeerResult:
    """Runs the loop on the stage and looks at what is on the person's branch then."""
    result = PeerResult(stage.scenario.name, stage.agent)
    program = stage.root / "bin/agent-run"
    program.write_text(PROGRAMS[stage.agent])
    program.chmod(0o755)
    began = time.monotonic()
    ended = _loop(stage, program)
    result.seconds = time.monotonic() - began
    result.calls = len(service.seen())
    left = processes.left_after(stage.root, 2.0)
    processes.end(left)
    result.left = bool(left)
    _look(stage, service, ended, result)
    return result


def _loop(stage: Stage, program: Path) -> int | None:
    variable, key = KEYS[stage.agent]
    env = {
        **stage.environment(),
        "AGENT_RUN": str(program),
        "TASK": _goal(stage),
        "CHECK": _check(stage),
        "ROUNDS": str(ROUNDS),
        "NIGHT_URL": stage.service,
        "ANTHROPIC_BASE_URL": stage.service,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
        variable: key,
    }
    log = stage.root / "peer.txt"
    with log.open("wb") as out:
        child = subprocess.Popen(
            ["bash", "-c", LOOP],
            cwd=stage.repo,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            return child.wait(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            processes.end(processes.belonging_to(stage.root))
            return None


def _look(stage: Stage, service: Service, ended: int | None, result: PeerResult) -> None:
    expect = stage.scenario.expect
    least = expect.get("least")
    result.least = least.get(stage.agent) if isinstance(least, dict) else least
    if ended is None:
        result.wrong.append(f"did not end within {SECONDS_MAX:.0f} s")
    completable = fits(0, of_agent(expect.get("exit", 0), stage.agent))
    green = expect.get("green") or _check(stage)
    env = {"PATH": os.pathsep.join([str(stage.root / "bin"), os.defpath]), "HOME": str(stage.root / "home")}
    # A check that hangs ends with 124.
    command = ["timeout", "60", "bash", "-c", stage.fill(green)]
    check = subprocess.run(command, cwd=stage.repo, env=env, capture_output=True, check=False)
    changed = stage.git("diff", "--name-only", f"{stage.base}..HEAD", check=False).split()
    done = ended == 0
    if completable and (not done or check.returncode != 0):
        result.wrong.append("not completed")
    if done and (check.returncode != 0 or not completable):
        result.wrong.append("said done, and it was not")
        result.false_done = True
    if completable and "files" in expect and done and sorted(changed) != sorted(expect["files"]):
        result.wrong.append(f"committed {len(changed)} files, expected {len(expect['files'])}")
    for order, wanted in expect.get("charges", {}).items():
        if service.outside.charges.get(order, 0) > wanted:
            result.twice = True
            result.wrong.append(f"{order} was charged more than once")


def _goal(stage: Stage) -> str:
    """The goal of a scenario that is nothing but one run of one goal."""
    steps = stage.scenario.steps
    if len(steps) != 1 or steps[0].kind != "run" or steps[0].value[0] != "run" or steps[0].meanwhile:
        return ""
    goal = str(steps[0].value[1])
    return "" if "/" in goal or goal.startswith("-") or goal.endswith(".md") else goal


def _check(stage: Stage) -> str:
    settings = (stage.repo / "unstuck.toml").read_text()
    found = re.search(r"^pre_commit = \[\"(.*?)\"", settings, re.MULTILINE)
    return found.group(1).replace('\\"', '"') if found else "true"
