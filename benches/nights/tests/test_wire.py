"""What comes by each wire is read alike, and what goes out can be read back."""

import json
import unittest

from harness import wire, words
from harness.scenario import Act, Turn

WRITE = Turn((Act("write", "a.txt", {"text": "a\n"}),))


class Reading(unittest.TestCase):
    def test_turns_of_the_model_are_counted_on_every_wire(self) -> None:
        call = {"type": "function_call", "name": "x", "arguments": "{}", "call_id": "1"}
        bodies = {
            "messages": {"messages": [
                {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "x", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "ok"}]},
            ]},
            "chat": {"messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "tool_calls": []},
                {"role": "tool", "content": "ok"},
            ]},
            "responses": {"input": [
                {"type": "message", "role": "developer", "content": []},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
                {"type": "configuration_update"},
                {"type": "reasoning"},
                call,
                {"type": "function_call_output", "call_id": "1", "output": "ok"},
            ]},
        }
        for name, body in bodies.items():
            conversation = wire.read(name, body)
            self.assertEqual((conversation.humans, conversation.assistants), (("go",), 1), name)


class Speaking(unittest.TestCase):
    def conversation(self, name: str, *tools: str) -> wire.Conversation:
        body = {"messages": [], "input": [], "tools": [{"name": tool} for tool in tools]}
        return wire.read(name, body)

    def test_a_file_is_written_in_each_agents_words(self) -> None:
        spoken = {
            "write_file": words.speak(WRITE, self.conversation("messages", "write_file"), frozenset()),
            "Write": words.speak(WRITE, self.conversation("messages", "Write", "Bash"), frozenset()),
            "exec_command": words.speak(WRITE, self.conversation("responses"), frozenset()),
        }
        for name, speech in spoken.items():
            self.assertEqual([call.name for call in speech.calls], [name])

    def test_claude_code_reads_a_file_that_is_there_before_it_writes_it(self) -> None:
        speech = words.speak(WRITE, self.conversation("messages", "Write"), frozenset({"a.txt"}))
        self.assertEqual([call.name for call in speech.calls], ["Read", "Write"])

    def test_a_stream_says_what_the_whole_says(self) -> None:
        speech = words.Speech("hello", (words.Call("mcp__unstuck__ask_human", {"question": "?"}),))
        for name in ("messages", "chat", "responses"):
            conversation = self.conversation(name)
            stream = "".join(wire.events(speech, conversation, 1))
            whole = json.dumps(wire.whole(speech, conversation, 1))
            for text in ("hello", "ask_human"):
                self.assertIn(text, stream, name)
                self.assertIn(text, whole, name)

    def test_why_a_turn_ends_and_what_it_costs_is_said_on_every_wire(self) -> None:
        ends = {
            "messages": {"refusal": "refusal", "max_tokens": "max_tokens"},
            "chat": {"refusal": "content_filter", "max_tokens": "length"},
            "responses": {"refusal": '"type": "refusal"', "max_tokens": "response.incomplete"},
        }
        for name, stops in ends.items():
            for stop, word in stops.items():
                speech = words.Speech("no", (), stop, 4711)
                stream = "".join(wire.events(speech, self.conversation(name), 1))
                self.assertIn(word, stream, name)
                self.assertIn("4711", stream, name)


if __name__ == "__main__":
    unittest.main()
