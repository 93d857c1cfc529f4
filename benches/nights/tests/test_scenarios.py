"""Every scenario can be read, says what it proves, and expects something."""

import tempfile
import unittest
from pathlib import Path

from harness import scenario
from harness.stage import merged

HERE = Path(__file__).resolve().parents[1]
ROWS = scenario.rows_of(HERE.parents[1] / "docs/behaviours.md")


class Scenarios(unittest.TestCase):
    def test_all_of_them_can_be_read(self) -> None:
        read = scenario.read_all(HERE / "scenarios", HERE / "bases", ROWS)
        self.assertGreaterEqual(len(read), 80)
        titles = [each.title for each in read]
        self.assertEqual(len(titles), len(set(titles)), "two scenarios have the same title")
        for each in read:
            expects = bool(each.expect) or any(step.exit is not None for step in each.steps)
            self.assertTrue(each.proves and expects, each.name)

    def test_a_row_that_is_none_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "night.toml")
            path.write_text('title = "A night"\nproves = ["rows"]\ngoal = "rest"\nrows = ["B15", "B999"]\n')
            with self.assertRaisesRegex(scenario.Wrong, "night.toml: unknown row: B999$"):
                scenario.read(path, HERE / "bases", ROWS)
            self.assertEqual(scenario.read(path, HERE / "bases", ROWS | {"B999"}).rows, ("B15", "B999"))

    def test_a_persons_settings_replace_and_join_what_was_written(self) -> None:
        written = '[run]\n# jobs = 1\n\n[validate]\npre_commit = ["make test"]\n'
        added = '[validate]\npre_commit = ["true"]\ntimeout = "1s"\n[scope]\nmode = "ask"\n'
        self.assertEqual(
            merged(written, added).split(),
            '[run] # jobs = 1 [validate] timeout = "1s" pre_commit = ["true"] [scope] mode = "ask"'.split(),
        )


if __name__ == "__main__":
    unittest.main()
