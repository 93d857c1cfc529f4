#!/usr/bin/env python3
"""What a repaired sync has to get right: it reads orders as the shop sends them now."""

import ast
import pathlib

source = pathlib.Path("sync.py").read_text()
ast.parse(source)
assert 'order["amount"]' in source, "the field is called amount now"
assert '"unstuck", "mutate"' in source, "a charge goes through the ledger"
