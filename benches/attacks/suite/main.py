"""The suite: which attacks, in which ways, how many at a time, and what came of them."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from harness import processes
from harness.brain import Brain
from harness.scenario import Act, Role, Turn
from harness.service import Service
from harness.stage import AUTHOR, PROVIDERS, Tools
from suite import attack, bare, predict, session, table
from suite.attack import Case
from suite.judge import Judge, Verdict
from suite.place import Place

HERE = Path(__file__).resolve().parents[1]
PROJECT = HERE.parents[1]
WITHOUT = "UNSTUCK_WITHOUT_LAYERS"
"""Names the layers that the wall is to do without."""
PERMISSIONS = "UNSTUCK_AGENT_PERMISSIONS"
"""Says what the real programs may do by themselves."""
PROVIDER = "UNSTUCK_AGENT_PROVIDER"
SHELL_SECONDS_MAX = 60
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"


def main(arguments: list[str]) -> int:
    """Runs the suite; 0 when nothing got through."""
    options = _options(arguments)
    try:
        attacks = attack.read_all(HERE / "attacks")
    except attack.Wrong as wrong:
        print(f"attacks: {wrong}", file=sys.stderr)
        return 2
    unknown = set(options.names) - {each.name for each in attacks} - {each.family for each in attacks}
    if unknown:
        print(f"attacks: there is no attack {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    chosen = _chosen(attack.cases(attacks), options)
    if options.without:
        os.environ[WITHOUT] = options.without
    os.environ[PERMISSIONS] = options.permissions
    if options.list:
        for case in chosen:
            print(f"{case.attack.family:<12} {case.name:<44} {case.attack.title}")
        print(f"{len(attacks)} attacks, {len(chosen)} cases")
        return 0
    unstuck = Path(os.environ.get("UNSTUCK_BIN", PROJECT / "target/release/unstuck")).absolute()
    agents = Path(os.environ.get("UNSTUCK_AGENTS", PROJECT / ".tools/agents/node_modules/.bin")).absolute()
    if not unstuck.exists():
        print(f"attacks: there is no {unstuck}; build it or name it in UNSTUCK_BIN", file=sys.stderr)
        return 2
    missing = [agent for agent in {case.agent for case in chosen} - {"script", "api"} if not (agents / agent).exists()]
    if missing:
        print(f"attacks: {', '.join(missing)} cannot be found in {agents}; ./scripts/agents installs it", file=sys.stderr)
        return 2
    verdicts = _run_all(chosen, Tools(unstuck, agents), options)
    print()
    print(table.totals(verdicts, options.bare))
    if options.json:
        Path(options.json).write_text(json.dumps(table.as_json(verdicts), indent=1))
    if options.markdown:
        print(table.markdown(verdicts))
    if options.write_docs:
        _write_docs(verdicts)
    if options.predicted:
        return _compare(verdicts, unstuck)
    wrong = [verdict for verdict in verdicts if verdict.held == options.bare or verdict.broken]
    return 1 if wrong else 0


def _compare(verdicts: list[Verdict], unstuck: Path) -> int:
    """0 where nothing got through but what doctor says gets through here."""
    env = {name: os.environ[name] for name in ["PATH", WITHOUT, PERMISSIONS] if name in os.environ}
    agents = {verdict.case.agent for verdict in verdicts}
    if agents == {"codex"}:
        # Codex may work in a sandbox of its own, and doctor says so.
        env[PROVIDER] = PROVIDERS["codex"][0]
    wrong, notes = predict.compared(verdicts, predict.ask(unstuck, _folder(), env))
    for sentence in [*wrong, *(f"note: {note}" for note in notes)]:
        print(sentence)
    told = "as doctor says" if not wrong else f"{len(wrong)} otherwise than doctor says"
    print(f"without {os.environ.get(WITHOUT) or 'nothing'}: {told}")
    return 1 if wrong or any(verdict.broken for verdict in verdicts) else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./scripts/attacks", description="Attacks on the wall.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="attacks or families; all of them without any")
    parser.add_argument("--agents", default=None, help="some of script,api,claude,codex; script,api without it")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--share", metavar="N/M", help="a part of them; `ci` is the share of every change")
    parser.add_argument("--without", metavar="LAYERS", help="take layers away: some of bubblewrap,landlock,seccomp")
    usual = "everything: the programs themselves refuse nothing"
    parser.add_argument("--permissions", default="everything", help=f"listed or everything; without it {usual}")
    told = "only what `unstuck doctor --wall` says gets through may get through"
    parser.add_argument("--predicted", action="store_true", help=told)
    parser.add_argument("--bare", action="store_true", help="without Unstuck: each has to get through")
    parser.add_argument("--keep", action="store_true", help="keep the places of attacks that were held too")
    parser.add_argument("--json", metavar="FILE", help="write everything down for programs")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/benchmarks.md")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("--list", action="store_true", help="only list the attacks")
    return parser.parse_args(arguments)


def _chosen(cases: list[Case], options: argparse.Namespace) -> list[Case]:
    names = set(options.names)
    # Our own loop needs no other program, so it is usual as well.
    usual = ",".join(attack.AGENTS) if options.share == "ci" else "script,api"
    agents = (options.agents or usual).split(",")
    found = [case for case in cases if case.agent in agents]
    if names:
        found = [case for case in found if names & {case.attack.name, case.attack.family}]
    if options.bare:
        found = [case for case in found if case.attack.bare and case.is_bare]
    if options.share == "ci":
        found = [case for case in found if case.is_of_every_change]
    elif options.share:
        part, parts = (int(number) for number in options.share.split("/"))
        found = found[part - 1 :: parts]
    return found


def _folder() -> Path:
    return Path(os.environ.get("UNSTUCK_ATTACKS_DIR", PROJECT / "target/attacks")).absolute()


def _run_all(cases: list[Case], tools: Tools, options: argparse.Namespace) -> list[Verdict]:
    below = _folder()
    verdicts = []
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        running = [pool.submit(_case, case, tools, below, options) for case in cases]
        for ended in as_completed(running):
            verdict = ended.result()
            verdicts.append(verdict)
            print(table.line(verdict), flush=True)
    order = {case.name: at for at, case in enumerate(cases)}
    return sorted(verdicts, key=lambda verdict: order[verdict.case.name])


def _case(case: Case, tools: Tools, below: Path, options: argparse.Namespace) -> Verdict:
    """One case, from an empty folder to the verdict."""
    began = time.monotonic()
    # Ended with a mark, so that no place's path begins another's: processes are found by it.
    place = Place(below / f"{case.name.replace('/', '-')}.case", case, tools)
    try:
        verdict = _played(place, options)
    except Exception as error:  # A case that cannot be told is no proof.
        verdict = Verdict(case, broken=f"{type(error).__name__}: {error}")
    verdict.seconds = time.monotonic() - began
    if (verdict.held or options.bare) and not options.keep and not verdict.broken:
        shutil.rmtree(place.root, ignore_errors=True)
    return verdict


def _played(place: Place, options: argparse.Namespace) -> Verdict:
    """The case in its place; nothing of it runs afterwards."""
    service = None
    try:
        place.prepare()
        if place.case.agent != "script":
            service = _model(place)
            place.service = service.url
            place.told = lambda: [seen.body for seen in service.seen()]
        return _bare(place) if options.bare else _unattended(place)
    finally:
        if service is not None:
            service.close()
        processes.end(processes.belonging_to(place.root))
        place.close()


def _model(place: Place) -> Service:
    """A model that does what the attack says."""
    acts = [Act("shell", "sh attack.sh > attack.log 2>&1")]
    if place.case.attack.tool:
        acts = [Act("mcp", place.case.attack.tool["name"], {"input": place.case.attack.tool["input"]})]
    if place.case.attack.acts:
        acts = [bare.to_act(each) for each in place.case.attack.acts]
    acts += [Act("write", "NOTES.md", {"text": "notes\n"}), Act("done", "The notes are written.")]
    role = Role("", (tuple(Turn((act,)) for act in acts),))
    service = Service(Brain((role,)), frozenset(place._files()), {}, {})
    service.fill = place.fill
    return service


def _unattended(place: Place) -> Verdict:
    made = _unstuck(place, "init")
    if made.returncode != 0:
        raise RuntimeError(f"`unstuck init` ended with {made.returncode}: {made.stderr}")
    server = _serve(place) if place.case.attack.server else None
    place.settle()
    before = place.snapshot()
    exit_code, output = _run(place, place.case.command())
    if place.case.way == "session":
        output += session.play(place, place.case.attack.calls)
    if server is not None:
        server.terminate()
        server.wait(SHELL_SECONDS_MAX)
    listed = _unstuck(place, "inbox", "list", "--json")
    try:
        found = json.loads(listed.stdout or "[]")
        questions = len(found if isinstance(found, list) else found.get("questions", []))
    except json.JSONDecodeError:
        questions = 0
    return Judge(place, before).judge(exit_code, output, questions)


def _serve(place: Place) -> subprocess.Popen[bytes]:
    """The person's own server, ready."""
    said = place.world / "server.txt"
    with said.open("wb") as log:
        command = [str(place.tools.unstuck), "serve"]
        server = subprocess.Popen(command, cwd=place.repo, env=place.environment(), stdout=log, stderr=log)
    end = time.monotonic() + SHELL_SECONDS_MAX
    while server.poll() is None and time.monotonic() < end:
        found = re.search(r"http://(127\.0\.0\.1:\d+)", said.read_text("utf-8", "replace"))
        if found and (place.home / ".local/state/unstuck/server/token").exists():
            place.server = found.group(1)
            return server
        time.sleep(0.05)
    server.kill()
    raise RuntimeError(f"the server does not start: {said.read_text('utf-8', 'replace')}")


def _run(place: Place, command: list[str]) -> tuple[int | None, str]:
    """A command of the person; none as exit code where it does not end."""
    log = place.root / "output.txt"
    with log.open("wb") as out:
        child = subprocess.Popen(
            [str(place.tools.unstuck), *command],
            cwd=place.repo,
            env=place.environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        (place.world / "supervisor.pid").write_text(str(child.pid))
        try:
            exit_code: int | None = child.wait(place.case.attack.timeout)
        except subprocess.TimeoutExpired:
            exit_code = None
            child.kill()
            child.wait()
    return exit_code, log.read_text("utf-8", "replace")


def _bare(place: Place) -> Verdict:
    """The attack with nothing in its way, in an ordinary worktree: what cannot succeed proves nothing."""
    place.settle()
    before = place.snapshot()
    worktree = place.repo / ".unstuck/worktree"
    place.shell(f"git worktree add -q -b unstuck/bare '{worktree}'")
    env = {**place.environment(), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": str(place.root)}
    for name, text in place.case.attack.writes.items():
        (worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree / name).write_text(place.fill(text))
    if place.case.attack.acts:
        bare.perform(place, worktree)
        return Judge(place, before).judge(0, "", 0)
    # What a careless supervisor does next: it writes, looks and commits with whatever the agent left.
    line = "sh attack.sh > attack.log 2>&1; code=$?; { echo notes > NOTES.md; git status; git add -A; git commit -m x; } >&2"
    ran = subprocess.run(
        ["sh", "-c", f"{line}; exit $code"],
        cwd=worktree,
        env={**env, **AUTHOR},
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    return Judge(place, before).judge(abs(ran.returncode), "", 0)


def _unstuck(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(place.tools.unstuck), *arguments],
        cwd=place.repo,
        env=place.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _write_docs(verdicts: list[Verdict]) -> None:
    page = PROJECT / "docs/benchmarks.md"
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{table.markdown(verdicts)}\n{END}{after}")
