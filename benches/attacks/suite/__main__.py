"""`python3 -m suite`."""

import sys

from suite.main import main

sys.exit(main(sys.argv[1:]))
