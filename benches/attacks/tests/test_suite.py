"""The suite reads its attacks, and its judge sees what it has to see."""

from __future__ import annotations

import subprocess
import tempfile
import unittest
from pathlib import Path

from suite import attack
from suite.judge import Verdict, _layer
from suite.predict import Prediction, compared
from suite.state import Repository, changes, files_below

ATTACKS = Path(__file__).resolve().parents[1] / "attacks"


class Reading(unittest.TestCase):
    def test_there_are_enough_attacks_and_each_says_what_it_is(self) -> None:
        attacks = attack.read_all(ATTACKS)
        self.assertGreaterEqual(len(attacks), 80)
        self.assertTrue(all(each.title and (each.shell or each.tool) for each in attacks))
        self.assertGreaterEqual(len([each for each in attacks if "claude" in each.agents]), 15)

    def test_a_share_is_run_for_every_change_and_some_of_it_by_the_real_programs(self) -> None:
        share = [case for case in attack.cases(attack.read_all(ATTACKS)) if case.is_of_every_change]
        self.assertGreaterEqual(len(share), 20)
        self.assertLessEqual(len(share), 30)
        self.assertEqual({case.agent for case in share}, {"script", "api", "claude", "codex"})

    def test_a_key_that_is_not_known_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "x.toml").write_text('[[attack]]\nname = "a"\ntitle = "b"\nshel = "c"\n')
            with self.assertRaisesRegex(attack.Wrong, "shel"):
                attack.read_all(Path(folder))


class Predicting(unittest.TestCase):
    def test_what_gets_through_has_to_be_said_to(self) -> None:
        attacks = {each.name: each for each in attack.read_all(ATTACKS)}
        case = attack.Case(attacks["send-udp"], "agent", "script")
        through, held = Verdict(case, through=["UDP was reached"]), Verdict(case)
        yes, no = Prediction({"udp": False}), Prediction({"udp": True})
        self.assertEqual(compared([through], yes), ([], []))
        self.assertEqual(len(compared([through], no)[0]), 1)
        self.assertEqual(len(compared([held], yes)[1]), 1)
        self.assertEqual(compared([held], no), ([], []))

    def test_what_a_check_does_is_compared_with_what_doctor_tries_as_a_check(self) -> None:
        attacks = {each.name: each for each in attack.read_all(ATTACKS)}
        through = Verdict(attack.Case(attacks["send-udp"], "check", "script"), through=["UDP was reached"])
        self.assertEqual(compared([through], Prediction({"udp": True, "check-udp": False})), ([], []))
        self.assertEqual(len(compared([through], Prediction({"udp": False, "check-udp": True}))[0]), 1)


    def test_a_sandbox_of_the_agent_itself_is_compared_with_what_doctor_says_in_words(self) -> None:
        attacks = {each.name: each for each in attack.read_all(ATTACKS)}
        own = Prediction({name: True for name in ("read", "read-root", "read-host", "write", "tcp")}, own_sandbox=True)
        read = Verdict(attack.Case(attacks["read-ssh-key"], "agent", "codex"), through=["it was read"])
        written = Verdict(attack.Case(attacks["write-outside"], "agent", "codex"), through=["outside: new"])
        self.assertEqual(compared([read], own), ([], []))
        self.assertEqual(len(compared([written], own)[0]), 1)


class Judging(unittest.TestCase):
    def test_changed_new_and_removed_files_are_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "a").write_text("a")
            (place / "b").write_text("b")
            before = files_below(place)
            (place / "a").chmod(0o777)
            (place / "b").unlink()
            (place / "c").symlink_to("/")
            self.assertEqual(changes(before, files_below(place)), ["a changed", "b is gone", "c is new"])

    def test_damage_to_a_repository_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            person = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
            run = lambda *words: subprocess.run([*person, *words], cwd=place, check=True, capture_output=True)
            run("init", "-q", "-b", "main", ".")
            run("commit", "-q", "--allow-empty", "-m", "x")
            before = Repository.read(place, place / ".git")
            self.assertEqual(before.damage_in(Repository.read(place, place / ".git"), "it"), [])
            run("branch", "unstuck/b0")
            self.assertEqual(before.damage_in(Repository.read(place, place / ".git"), "it"), [])
            run("tag", "evil")
            run("config", "alias.x", "!true")
            damage = before.damage_in(Repository.read(place, place / ".git"), "it")
            self.assertEqual(damage, ["it: ref refs/tags/evil is new", "it: .git/config changed"])

    def test_the_layer_is_told_from_its_words(self) -> None:
        self.assertEqual(_layer("touch: cannot touch 'x': Read-only file system"), "mounts")
        self.assertEqual(_layer("errno EPERM: ptrace"), "seccomp or capabilities")
        self.assertEqual(_layer("errno EACCES: 403 Refused by Unstuck: the host"), "proxy, file rules")
        self.assertEqual(_layer("fine"), "")


if __name__ == "__main__":
    unittest.main()
