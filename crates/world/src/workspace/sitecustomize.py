"""Lets imports that lead into a person's checkout lead into the worktree instead.

Unstuck puts this before everything else on PYTHONPATH of commands that run in a worktree: packages
that were installed from the checkout (`pip install -e .`) would be tested there and not here.
"""

import importlib.machinery
import importlib.util
import os
import sys

CHECKOUT = "@CHECKOUT@"
WORKTREE = "@WORKTREE@"
_INSTALLED = {"site-packages", "dist-packages", "lib-dynload"}


def _is_below(path, folder):
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _own(path):
    """The same place in the worktree, for one in the checkout that holds the project's own code."""
    if not isinstance(path, str) or not path:
        return path
    real = os.path.realpath(path)
    if not _is_below(real, CHECKOUT):
        return path
    prefixes = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)} - {CHECKOUT}
    parts = os.path.relpath(real, CHECKOUT).split(os.sep)
    if _INSTALLED.union((".unstuck", ".git")).intersection(parts):
        return path
    if any(_is_below(real, prefix) for prefix in prefixes if _is_below(prefix, CHECKOUT)):
        return path
    return WORKTREE if parts == ["."] else os.path.join(WORKTREE, *parts)


def _lead_finders():
    """Finders of editable installs map names of packages to places."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("__editable__"):
            continue
        for table in (getattr(module, "MAPPING", None), getattr(module, "NAMESPACES", None)):
            for key, value in list(table.items()) if isinstance(table, dict) else []:
                table[key] = [_own(one) for one in value] if isinstance(value, list) else _own(value)


def _run_next():
    """The machine's own module of this name is run as well."""
    here = os.path.dirname(os.path.realpath(__file__))
    rest = [path for path in sys.path if os.path.realpath(path or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def lead():
    """Leads everything that is known by now."""
    sys.path[:] = [_own(path) for path in sys.path]
    _lead_finders()


lead()
_run_next()
