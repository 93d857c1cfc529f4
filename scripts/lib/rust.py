"""Rust source as scripts read it: which files there are, and what in them is a test."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[.*\]\n)*mod \w+ \{", re.MULTILINE)


def sources(root=ROOT):
    """Every source file of every crate."""
    return sorted(path for path in root.glob("crates/*/src/**/*.rs") if path.is_file())


def without_tests(text):
    """The text up to the file's own test module."""
    found = TEST_MODULE.search(text)
    return text[: found.start()] if found else text


def is_test(path):
    return "tests" in path.parts or path.name == "tests.rs"


def listed(name):
    """The entries of a list in scripts/policy: the first word of a line, and the reason after it."""
    reasons = {}
    for line in (ROOT / "scripts/policy" / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            entry, _, reason = line.partition(" ")
            reasons[entry] = reason.strip()
    return reasons
