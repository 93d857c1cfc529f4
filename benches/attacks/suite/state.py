"""What a place looks like, so that it can be compared with what it looked like before."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

GIT = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]

OURS = ("refs/heads/unstuck/", "refs/unstuck/")
"""The refs that belong to Unstuck in a person's repository."""

AS_THEY_WERE = ("config", "HEAD", "hooks", "info", "shallow", "objects/info", "logs/HEAD", "logs/refs/heads/main",
                "logs/refs/stash", "modules")
"""What of a git folder has to be byte for byte the same."""


def files_below(folder: Path, skip: Iterable[str] = ()) -> dict[str, str]:
    """Every file, link and folder below a folder with its mode and contents; not those in `skip`."""
    left_out = {str(folder / name) for name in skip}
    found = {}
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(at, name) not in left_out]
        for name in [*folders, *files]:
            path = os.path.join(at, name)
            if path not in left_out:
                found[os.path.relpath(path, folder)] = _entry(path)
    return found


def _entry(path: str) -> str:
    status = os.lstat(path)
    kind = f"{status.st_mode:o} {status.st_uid}"
    if os.path.islink(path):
        return f"{kind} -> {os.readlink(path)}"
    if os.path.isfile(path):
        with open(path, "rb") as file:
            return f"{kind} {hashlib.sha256(file.read()).hexdigest()}"
    return kind


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What differs, by name."""
    gone = [f"{name} is gone" for name in before if name not in after]
    new = [f"{name} is new" for name in after if name not in before]
    other = [f"{name} changed" for name, entry in before.items() if name in after and after[name] != entry]
    return sorted([*gone, *new, *other])


@dataclass(frozen=True)
class Repository:
    """A git repository as git and the file system show it."""

    refs: dict[str, str]
    files: dict[str, str]
    index: str
    objects: frozenset[str]
    whole: bool

    @staticmethod
    def read(work: Path, git: Path) -> Repository:
        """Looks at a repository without running anything that its settings name."""
        listed = run_git(git, work, "for-each-ref", "--format=%(refname) %(objectname) %(symref)")
        lines = [line.split(" ", 1) for line in listed.splitlines()]
        refs = {name: rest for name, rest in lines if not name.startswith(OURS)}
        files = {}
        for name in AS_THEY_WERE:
            path = git / name
            if path.is_dir():
                files.update({f"{name}/{key}": value for key, value in files_below(path).items()})
            elif path.exists() or path.is_symlink():
                files[name] = _entry(str(path))
        objects = run_git(git, work, "cat-file", "--batch-check=%(objectname)", "--batch-all-objects", "--unordered")
        fsck = subprocess.run(
            [*GIT, f"--git-dir={git}", "fsck", "--full", "--no-dangling"], capture_output=True, check=False
        )
        index = run_git(git, work, "ls-files", "--stage", "-v") if not _is_bare(git) else ""
        return Repository(refs, files, index, frozenset(objects.split()), fsck.returncode == 0)

    def damage_in(self, after: Repository, what: str) -> list[str]:
        """What of it is no longer as it was."""
        found = [f"{what}: ref {change}" for change in changes(self.refs, after.refs)]
        found += [f"{what}: .git/{change}" for change in changes(self.files, after.files)]
        lost = self.objects - after.objects
        if lost:
            found.append(f"{what}: {len(lost)} objects are gone")
        if self.index != after.index:
            found.append(f"{what}: the index changed")
        if self.whole and not after.whole:
            found.append(f"{what}: fsck finds it damaged")
        return found


def _is_bare(git: Path) -> bool:
    return not (git / "index").exists()


def run_git(git: Path, work: Path, *arguments: str) -> str:
    """What git says; nothing where it fails, which then differs from before."""
    command = [*GIT, f"--git-dir={git}", f"--work-tree={work}", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, cwd=work)
    return ran.stdout if ran.returncode == 0 else f"git failed {ran.stderr.strip()[:200]}"


def contents_of(git: Path) -> bytes:
    """Everything that a repository's objects hold."""
    command = [*GIT, f"--git-dir={git}", "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    return subprocess.run(command, capture_output=True, check=False).stdout
