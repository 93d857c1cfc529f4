"""A throw-away project, and the real server on it, for scripts that load or measure it."""

import os
import pathlib
import re
import subprocess

GIT = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]


def project(folder, files):
    """A project with these files, in a repository of its own."""
    shop = pathlib.Path(folder) / "shop"
    for path, text in files.items():
        (shop / path).parent.mkdir(parents=True, exist_ok=True)
        (shop / path).write_text(text)
    for args in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "Begin"]):
        subprocess.run([*GIT, *args], cwd=shop, check=True)
    return shop


def environment(folder):
    """What belongs to the user is in the folder too."""
    return {**os.environ, "XDG_STATE_HOME": str(pathlib.Path(folder) / "state")}


def serve(binary, shop, environment, bind="127.0.0.1:0"):
    """A running server: the process, where it is, and the first token where it was made now."""
    server = subprocess.Popen([binary, "serve", "--bind", bind], cwd=shop, env=environment,
                              stdout=subprocess.PIPE, text=True)
    address = token = None
    for line in server.stdout:
        address = address or next(iter(re.findall(r" at (http://[\d.:]+)", line)), None)
        token = token or next(iter(re.findall(r"(ust_\S+)", line)), None)
        if "Ctrl-C" in line:
            return server, address, token
    raise SystemExit("the server ended before it was there")
