"""The program as it is released, for scripts that measure it."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def release():
    """Builds the program as it is released; where it is."""
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "-p", "unstuck"], cwd=ROOT, check=True)
    told = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True,
                          capture_output=True).stdout
    return pathlib.Path(json.loads(told)["target_directory"]) / "release" / "unstuck"
