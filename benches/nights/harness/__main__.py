"""Starts the suite: `./scripts/nights`."""

import sys

from harness.main import main

sys.exit(main(sys.argv[1:]))
