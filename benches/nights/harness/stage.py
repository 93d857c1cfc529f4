"""Where one night takes place: a person's home, their repository with its remote, their environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.scenario import Scenario

KEYS = {
    "claude": ("ANTHROPIC_API_KEY", "sk-ant-api03-canary-night-4f1d8a7be2c94c55a1"),
    "codex": ("OPENAI_API_KEY", "sk-proj-canary-night-77c1d2aa9e024b1d9f"),
    "api": ("ANTHROPIC_API_KEY", "sk-ant-api03-canary-night-4f1d8a7be2c94c55a1"),
    "openai": ("OPENAI_API_KEY", "sk-proj-canary-night-77c1d2aa9e024b1d9f"),
}
"""The key of each agent, by the variable that holds it. None of them may show up anywhere."""

GITHUB_TOKEN = "ghp_canarynight0123456789abcdef01234567"

PROVIDERS = {
    "claude": ("claude-cli", None),
    "codex": ("codex-cli", None),
    "api": ("anthropic-api", "claude-sonnet-4-5"),
    "openai": ("openai-api", "gpt-5"),
}
"""What a person writes to choose an agent: provider and model."""

AUTHOR = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}

GITCONFIG = """\
[user]
\tname = Ada
\temail = ada@example.org
[init]
\tdefaultBranch = main
[protocol "file"]
\tallow = always
"""


@dataclass(frozen=True)
class Tools:
    """The programs that nights are run with."""

    unstuck: Path
    agents: Path


@dataclass
class Stage:
    """One run's own places. Everything below `root` is the run's."""

    root: Path
    agent: str
    service: str
    tools: Tools
    scenario: Scenario
    base: str = ""

    @property
    def repo(self) -> Path:
        """The person's own checkout."""
        return self.root / "repo"

    @property
    def remote(self) -> Path:
        """The bare repository it is pushed to."""
        return self.root / "remote.git"

    def fill(self, text: str) -> str:
        """Puts the run's own addresses into a text of the scenario."""
        pairs = {
            "@SERVICE@": self.service,
            "@SERVICE_HOST@": self.service.removeprefix("http://"),
            "@STAGE@": str(self.root),
            "@REPO@": str(self.repo),
            "@REMOTE@": str(self.remote),
            "@UNSTUCK@": str(self.tools.unstuck),
        }
        if "@RUST@" in text:
            pairs["@RUST@"] = rust_programs()
        for mark, value in pairs.items():
            text = text.replace(mark, value)
        return text

    def environment(self) -> dict[str, str]:
        """What a person has in their shell who has chosen this agent."""
        provider, model = PROVIDERS[self.agent]
        variable, key = KEYS[self.agent]
        base_url = f"{self.service}/v1" if self.agent in ("codex", "openai") else self.service
        env = {
            "PATH": os.pathsep.join(map(str, self._path())),
            "HOME": str(self.root / "home"),
            "USER": "ada",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "UNSTUCK_AGENT_PROVIDER": provider,
            "UNSTUCK_AGENT_BASE_URL": base_url,
            "UNSTUCK_SERVER_BIND": "127.0.0.1:0",
            # Where checks and commands of a scenario leave their marks for the oracle.
            "UNSTUCK_WALL_WRITABLE": json.dumps([str(self.root / "state")]),
            variable: key,
        }
        if model:
            env["UNSTUCK_AGENT_MODEL"] = model
        for name, value in self.scenario.env.items():
            if value == "-":
                env.pop(name, None)
            else:
                env[name] = self.fill(value).replace("@PATH@", env["PATH"])
        return env

    def _path(self) -> list[Path | str]:
        return [self.root / "bin", self.tools.agents, os.defpath, "/usr/local/bin"]

    def git(self, *arguments: str, check: bool = True) -> str:
        """Runs git in the person's checkout, as the person."""
        ran = subprocess.run(
            ["git", *arguments], cwd=self.repo, env=self._git_env(), capture_output=True, text=True, check=check
        )
        return ran.stdout

    def shell(self, line: str, cwd: Path | None = None) -> None:
        """Runs a line of shell as the person."""
        env = {**self.environment(), **self._git_env()}
        env["PATH"] = os.pathsep.join([os.defpath, str(self.tools.agents)])
        subprocess.run(["bash", "-ec", self.fill(line)], cwd=cwd or self.repo, env=env, check=True, capture_output=True)

    def _git_env(self) -> dict[str, str]:
        return {"PATH": os.defpath, "HOME": str(self.root / "home"), "GIT_CONFIG_NOSYSTEM": "1", **AUTHOR}

    def prepare(self) -> None:
        """Makes the places and the repository, with its first commit on the remote."""
        shutil.rmtree(self.root, ignore_errors=True)
        for name in ("home", "bin", "repo", "state"):
            (self.root / name).mkdir(parents=True)
        (self.root / "home/.gitconfig").write_text(GITCONFIG)
        # A person calls it by its name, whatever the file is called that is tried out.
        (self.root / "bin/unstuck").symlink_to(self.tools.unstuck)
        for name, text in self.scenario.programs.items():
            self._executable(self.root / "bin" / name, text)
        self.git("init", "--quiet", "-b", "main", ".")
        self._write(self.scenario.files)
        for name in self.scenario.executable:
            (self.repo / name).chmod(0o755)
        self.git("init", "--quiet", "--bare", str(self.remote))
        self.git("remote", "add", "origin", str(self.remote))
        for line in self.scenario.before:
            self.shell(line)
        self.commit("Begin")
        self.git("push", "--quiet", "-u", "origin", "main", check=False)

    def settle(self) -> None:
        """Commits what `unstuck init` wrote, with what the person adds to it."""
        settings = self.repo / "unstuck.toml"
        if self.scenario.settings:
            settings.write_text(merged(settings.read_text(), self.fill(self.scenario.settings)))
        for line in self.scenario.after_init:
            self.shell(line)
        example = self.repo / "tasks/000-example.md"
        if example.exists():
            example.unlink()
        self.commit("Set Unstuck up")
        self._write(self.scenario.ignored)
        self.base = self.git("rev-parse", "HEAD", check=False).strip()
        self.git("push", "--quiet", "origin", "main", check=False)

    def commit(self, message: str) -> None:
        """Commits everything, where there is something."""
        self.git("add", "-A")
        if self.git("status", "--porcelain").strip():
            self.git("commit", "--quiet", "-m", message)

    def _write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.fill(text))

    def _executable(self, path: Path, text: str) -> None:
        path.write_text(self.fill(text))
        path.chmod(0o755)


def merged(written: str, added: str) -> str:
    """Adds the person's settings to what was written, table by table."""
    lines = written.splitlines()
    table = ""
    for line in added.strip().splitlines():
        if line.startswith("["):
            table = line.strip()
            if table.startswith("[[") or table not in lines:
                lines.extend(["", table])
                table_end = len(lines)
            else:
                table_end = lines.index(table) + 1
            continue
        key = line.split("=")[0].strip()
        if table and key:
            following = range(table_end, len(lines))
            end = next((at for at in following if lines[at].startswith("[")), len(lines))
            same = [at for at in range(table_end, end) if lines[at].split("=")[0].strip() == key]
            if same and not table.startswith("[["):
                lines[same[0]] = line
            else:
                lines.insert(table_end, line)
                table_end += 1
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def rust_programs() -> str:
    """The folder of the compiler itself: what rustup puts before it needs the person's home."""
    root = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True)
    return str(Path(root.stdout.strip()) / "bin")
