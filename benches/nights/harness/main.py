"""The suite: which scenarios, with which agents, how many at a time, and what is written down."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from harness import peer, scenario, table
from harness.brain import Brain
from harness.oracle import Oracle, Verdict
from harness.peer import PeerResult
from harness.play import Player
from harness.scenario import AGENTS, Scenario
from harness.service import Service
from harness.stage import PROVIDERS, Stage, Tools

HERE = Path(__file__).resolve().parents[1]
PROJECT = HERE.parents[1]
BEGIN, END = "<!-- nights: begin -->", "<!-- nights: end -->"


@dataclass(frozen=True)
class Night:
    """One scenario with one agent."""

    scenario: Scenario
    agent: str


# Folders that Codex's sandbox makes to hide them, and removes again unless it is killed.
CODEX_LEFTOVERS = [Path("/tmp") / name for name in (".git", ".codex", ".agents", ".aws")]


def main(arguments: list[str]) -> int:
    """Runs the suite; 0 when everything is as it has to be."""
    options = _options(arguments)
    try:
        rows = scenario.rows_of(PROJECT / "docs/behaviours.md")
        scenarios = scenario.read_all(HERE / "scenarios", HERE / "bases", rows)
    except scenario.Wrong as wrong:
        print(f"nights: {wrong}", file=sys.stderr)
        return 2
    unknown = set(options.names) - {each.name for each in scenarios}
    if unknown:
        print(f"nights: there is no scenario {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    scenarios = [_try_out(each, options.set) for each in scenarios]
    nights = list(_possible(_chosen(scenarios, options)))
    if options.list:
        for each in scenarios:
            print(f"{each.name:<36} {each.title}")
        print(f"{len(scenarios)} scenarios")
        return 0
    tools = _tools(options)
    missing = _missing(tools, nights)
    if missing:
        print(f"nights: {missing}", file=sys.stderr)
        return 2
    absent = [path for path in CODEX_LEFTOVERS if not path.exists()]
    try:
        verdicts, peers = _run_all(nights, tools, options)
    finally:
        _remove_empty(absent)
    print()
    print(table.totals(verdicts))
    if peers:
        print(f"a shell loop: {sum(not each.wrong for each in peers)} of {len(peers)}")
    _write_down(scenarios, verdicts, peers, options)
    return 1 if any(verdict.wrong for verdict in verdicts) else 0


def _remove_empty(folders: list[Path]) -> None:
    """Removes what a killed Codex leaves: an empty `.git` above other repositories confuses git."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            continue


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./scripts/nights", description="Nights with the real agents.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios; all of them without any")
    parser.add_argument("--agents", default=None, help=f"some of {','.join(PROVIDERS)}; {','.join(AGENTS)} without it")
    parser.add_argument("--jobs", type=int, default=2, help="how many nights at a time")
    parser.add_argument("--share", metavar="N/M", help="a part of the scenarios; `ci` is the share of every change")
    parser.add_argument("--peer", action="store_true", help="run the shell loop beside it")
    parser.add_argument("--json", metavar="FILE", help="write everything down for programs")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/benchmarks.md")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/benchmarks.md")
    setting = "a variable of the person, to try a setting out"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=setting)
    parser.add_argument("--keep", action="store_true", help="keep the places of nights that are as they have to be")
    parser.add_argument("--list", action="store_true", help="only list the scenarios")
    return parser.parse_args(arguments)


def _chosen(scenarios: list[Scenario], options: argparse.Namespace) -> Iterable[Night]:
    named = [each for each in scenarios if not options.names or each.name in options.names]
    share = options.share
    if share and share != "ci":
        part, parts = (int(number) for number in share.split("/"))
        named = named[part - 1 :: parts]
    elif share:
        named = [each for each in named if each.ci]
    wanted = options.agents.split(",") if options.agents else list(AGENTS)
    for at, each in enumerate(named):
        agents = [agent for agent in wanted if agent in each.agents or agent == "openai"]
        if share == "ci" and not options.agents:
            # Our own loop, and one of the real programs in turn.
            agents = [agent for agent in agents if agent in ("api", ("claude", "codex")[at % 2])]
        for agent in agents:
            yield Night(each, agent)


def _possible(nights: Iterable[Night]) -> Iterable[Night]:
    """The nights whose programs are installed; of the others it is said which programs they need."""
    left_out: dict[str, int] = {}
    for night in nights:
        missing = [name for name in night.scenario.needs if not shutil.which(name)]
        if missing:
            left_out[missing[0]] = left_out.get(missing[0], 0) + 1
        else:
            yield night
    for name, count in left_out.items():
        print(f"nights: {count} left out, because {name} is not installed", file=sys.stderr)


def _tools(options: argparse.Namespace) -> Tools:
    unstuck = Path(os.environ.get("UNSTUCK_BIN", PROJECT / "target/release/unstuck")).absolute()
    agents = Path(os.environ.get("UNSTUCK_AGENTS", PROJECT / ".tools/agents/node_modules/.bin")).absolute()
    return Tools(unstuck, agents)


def _missing(tools: Tools, nights: list[Night]) -> str | None:
    if not tools.unstuck.exists():
        return f"there is no {tools.unstuck}; build it (cargo build --release) or name it in UNSTUCK_BIN"
    for agent in {night.agent for night in nights} & {"claude", "codex"}:
        if not (tools.agents / agent).exists():
            return f"{agent} is not installed; ./scripts/agents does it"
    return None


def _run_all(
    nights: list[Night], tools: Tools, options: argparse.Namespace
) -> tuple[list[Verdict], list[PeerResult]]:
    place = Path(os.environ.get("UNSTUCK_NIGHTS_DIR", PROJECT / "target/nights")).absolute()
    verdicts: list[Verdict] = []
    peers: list[PeerResult] = []
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        running = {pool.submit(_night, night, tools, place, options.keep): night for night in nights}
        beside = {}
        if options.peer:
            beside = {pool.submit(_peer, night, tools, place): night for night in nights}
        for ended in as_completed([*running, *beside]):
            result = ended.result()
            if isinstance(result, Verdict):
                verdicts.append(result)
                print(table.line(result), flush=True)
            elif result is not None:
                peers.append(result)
                print(table.peer_line(result), flush=True)
    return sorted(verdicts, key=_by_name), sorted(peers, key=_by_name)


def _by_name(result: Verdict | PeerResult) -> tuple[str, str]:
    return result.scenario, result.agent


def _night(night: Night, tools: Tools, place: Path, keep: bool) -> Verdict:
    """One scenario with one agent, from an empty folder to the verdict."""
    service, stage = _set(night, tools, place / f"{night.scenario.name}-{night.agent}")
    try:
        player = Player(stage, service)
        _init(stage, player)
        began = time.monotonic()
        played = player.play()
        verdict = Oracle(stage, service, player).judge(played, time.monotonic() - began)
    except Exception as error:  # A night that cannot be told is a failed night.
        verdict = Verdict(night.scenario.name, night.agent, [f"the harness failed: {type(error).__name__}: {error}"])
    finally:
        service.close()
    if verdict.wrong and stage.root.exists():
        _keep_requests(stage, service)
    elif not keep:
        shutil.rmtree(stage.root, ignore_errors=True)
    return verdict


def _peer(night: Night, tools: Tools, place: Path) -> PeerResult | None:
    service, stage = _set(night, tools, place / f"{night.scenario.name}-{night.agent}-peer")
    try:
        if not peer.takes_part(stage):
            return None
        _init(stage, Player(stage, service))
        return peer.run(stage, service)
    finally:
        service.close()
        shutil.rmtree(stage.root, ignore_errors=True)


def _try_out(scenario_: Scenario, pairs: list[str]) -> Scenario:
    """The scenario with further variables in the person's environment."""
    added = dict(pair.split("=", 1) for pair in pairs)
    return replace(scenario_, env={**added, **scenario_.env})


def _set(night: Night, tools: Tools, root: Path) -> tuple[Service, Stage]:
    there = frozenset(night.scenario.files)
    service = Service(Brain(night.scenario.roles), there, night.scenario.shop, night.scenario.github)
    stage = Stage(root, night.agent, service.url, tools, night.scenario)
    service.fill = stage.fill
    return service, stage


def _init(stage: Stage, player: Player) -> None:
    """The repository, and what `unstuck init` makes of it."""
    stage.prepare()
    made = player.unstuck("init")
    if made.returncode != 0:
        player.played.wrong.append(f"`unstuck init` ended with {made.returncode}: {made.stderr.strip()}")
    stage.settle()


def _keep_requests(stage: Stage, service: Service) -> None:
    kept = [
        {name: getattr(seen, name) for name in ("task", "attempt", "served", "at", "humans", "body")}
        for seen in service.seen()
    ]
    (stage.root / "requests.json").write_text(json.dumps(kept, indent=1))
    (stage.root / "outside.json").write_text(json.dumps(vars(service.outside), indent=1))


def _write_down(
    scenarios: list[Scenario], verdicts: list[Verdict], peers: list[PeerResult], options: argparse.Namespace
) -> None:
    if options.json:
        Path(options.json).write_text(json.dumps(table.as_json(scenarios, verdicts, peers), indent=1))
    if options.markdown:
        print(table.markdown(verdicts, peers))
    if options.write_docs:
        page = PROJECT / "docs/benchmarks.md"
        text = page.read_text()
        before, _, rest = text.partition(BEGIN)
        _, _, after = rest.partition(END)
        page.write_text(f"{before}{BEGIN}\n{table.markdown(verdicts, peers)}\n{END}{after}")
