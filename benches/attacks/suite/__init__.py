"""Attacks on the wall, by the built program, judged from outside."""
