"""The scripted model finds its place in any conversation."""

import unittest
from unittest import mock

from harness.brain import Brain, Conversation
from harness.scenario import Act, Fault, Role, Turn


def turn(word: str) -> Turn:
    return Turn((Act("say", word),))


def asked(*humans: str, assistants: int = 0) -> Conversation:
    return Conversation("messages", "model", True, humans, assistants, frozenset(), "")


def said(brain: Brain, conversation: Conversation) -> str:
    item = brain.answer(conversation).item
    return f"fault {item.name}" if isinstance(item, Fault) else str(item.acts[0].value)


class Attempts(unittest.TestCase):
    def test_turns_follow_each_other_in_one_conversation(self) -> None:
        brain = Brain((Role("", ((turn("a"), turn("b")),)),))
        self.assertEqual([said(brain, asked("go", assistants=n)) for n in range(3)], ["a", "b", "Done."])

    def test_new_words_begin_the_next_attempt(self) -> None:
        brain = Brain((Role("", ((turn("a"), turn("b")), (turn("c"),))),))
        self.assertEqual(said(brain, asked("go")), "a")
        self.assertEqual(said(brain, asked("go", "try another way", assistants=1)), "c")

    def test_a_conversation_that_begins_anew_is_the_next_attempt(self) -> None:
        brain = Brain((Role("", ((turn("a"), turn("b")), (turn("c"),))),))
        self.assertEqual(said(brain, asked("go")), "a")
        self.assertEqual(said(brain, asked("go")), "c")

    def test_a_fault_lasts_from_its_first_request_on(self) -> None:
        brain = Brain((Role("", ((Fault("429", for_seconds=100.0), turn("a")),)),))
        with mock.patch("harness.brain.time.monotonic", side_effect=[1000.0, 1099.0, 1101.0]):
            self.assertEqual([said(brain, asked("go")) for _ in range(3)], ["fault 429", "fault 429", "a"])

    def test_the_last_attempt_is_repeated(self) -> None:
        brain = Brain((Role("", ((turn("a"),),)),))
        self.assertEqual([said(brain, asked(word)) for word in ("one", "two", "three")], ["a", "a", "a"])

    def test_reminders_and_nudges_begin_nothing(self) -> None:
        brain = Brain((Role("", ((turn("a"), turn("b")), (turn("c"),))),))
        self.assertEqual(said(brain, asked("go")), "a")
        later = asked("go", "<system-reminder>x</system-reminder>", "Go on with a tool. Now.", assistants=1)
        self.assertEqual(said(brain, later), "b")

    def test_tasks_are_told_apart_by_their_words(self) -> None:
        brain = Brain((Role("write a", ((turn("a"),),)), Role("write b", ((turn("b"),),))))
        self.assertEqual([said(brain, asked("write b")), said(brain, asked("write a"))], ["b", "a"])


class Faults(unittest.TestCase):
    def test_what_a_fault_has_cut_goes_on_where_it_was(self) -> None:
        brain = Brain((Role("", ((turn("a"), Fault("429", times=2), turn("b")), (turn("c"),))),))
        self.assertEqual(said(brain, asked("go")), "a")
        self.assertEqual(said(brain, asked("go", assistants=1)), "fault 429")
        self.assertEqual(said(brain, asked("go", "you were interrupted", assistants=1)), "fault 429")
        self.assertEqual(said(brain, asked("go", "once more")), "b")

    def test_a_fault_without_end_stays(self) -> None:
        brain = Brain((Role("", ((Fault("429", times=0), turn("a")),)),))
        self.assertEqual({said(brain, asked("go")) for _ in range(9)}, {"fault 429"})

    def test_a_fault_that_is_over_does_not_come_back_with_the_attempt(self) -> None:
        brain = Brain((Role("", ((Fault("500"), turn("a")),)),))
        self.assertEqual([said(brain, asked("go")) for _ in range(3)], ["fault 500", "a", "a"])

    def test_an_answer_that_did_not_arrive_is_given_again(self) -> None:
        brain = Brain((Role("", ((turn("a"), turn("b")), (turn("c"),))),))
        brain.answer(asked("go"))
        brain.undelivered("")
        self.assertEqual(said(brain, asked("go", "you were interrupted")), "a")


if __name__ == "__main__":
    unittest.main()
