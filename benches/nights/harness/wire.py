"""The three wires: how a request is read, and how an answer looks on it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.brain import Conversation
from harness.scenario import Act, Fault, Turn

REQUEST_ID = "req_night"
USED = {"input": 100, "cached": 10, "output": 20}
"""The tokens that every turn uses."""


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Speech:
    """A turn in the words of one agent."""

    text: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Refusal:
    """An answer that is no success."""

    status: int
    body: dict[str, Any]
    headers: tuple[tuple[str, str], ...]


def wire_of(path: str) -> str | None:
    """Which wire a path belongs to."""
    path = path.split("?")[0]
    for end, wire in (("/v1/messages", "messages"), ("/chat/completions", "chat"), ("/responses", "responses")):
        if path.endswith(end):
            return wire
    return None


def read(wire: str, body: dict[str, Any]) -> Conversation:
    """Reads a request."""
    reader = {"messages": _read_messages, "chat": _read_chat, "responses": _read_responses}[wire]
    return reader(body)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part.get("text", "") for part in content or [] if part.get("type") in ("text", "input_text")]


def _read_messages(body: dict[str, Any]) -> Conversation:
    messages = body.get("messages", [])
    humans = [text for message in messages if message["role"] == "user" for text in _texts(message["content"])]
    return Conversation(
        wire="messages",
        model=body.get("model", ""),
        streaming=bool(body.get("stream")),
        humans=tuple(humans),
        assistants=sum(message["role"] == "assistant" for message in messages),
        tools=frozenset(tool.get("name", "") for tool in body.get("tools", [])),
        system="\n".join(_texts(body.get("system", ""))),
    )


def _read_chat(body: dict[str, Any]) -> Conversation:
    messages = body.get("messages", [])
    texts = {role: [text for message in messages if message["role"] == role for text in _texts(message.get("content"))]
             for role in ("user", "system")}
    return Conversation(
        wire="chat",
        model=body.get("model", ""),
        streaming=bool(body.get("stream")),
        humans=tuple(texts["user"]),
        assistants=sum(message["role"] == "assistant" for message in messages),
        tools=frozenset(tool.get("function", {}).get("name", "") for tool in body.get("tools", [])),
        system="\n".join(texts["system"]),
    )


THEIRS = ("function_call", "custom_tool_call", "reasoning")
"""The items that only a model writes."""


def _read_responses(body: dict[str, Any]) -> Conversation:
    items = body.get("input", [])
    humans: list[str] = []
    turns, speaking = 0, False
    for item in items:
        theirs = item.get("role") == "assistant" or item.get("type") in THEIRS
        if item.get("role") == "user":
            humans.extend(_texts(item.get("content")))
        turns += theirs and not speaking
        speaking = theirs
    names = {tool.get("name", "") for tool in body.get("tools", [])}
    return Conversation(
        wire="responses",
        model=body.get("model", ""),
        streaming=bool(body.get("stream")),
        humans=tuple(humans),
        assistants=turns,
        tools=frozenset(names),
        system=body.get("instructions") or "",
    )


# --- What a model wants done, in each agent's words -------------------------------------------------


def speak(turn: Turn, conversation: Conversation, there: frozenset[str]) -> Speech:
    """A turn in the words of the agent that asks. `there` are files that an agent has to read first."""
    words = _speaker(conversation)
    text: list[str] = []
    calls: list[Call] = []
    for act in turn.acts:
        said, called = words(act, conversation, there)
        text.extend(said)
        calls.extend(called)
    return Speech("\n".join(text), tuple(calls))


def filled(speech: Speech, fill: Callable[[str], str]) -> Speech:
    """A turn with the run's own addresses in it."""

    def put(value: Any) -> Any:
        match value:
            case str():
                return fill(value)
            case dict():
                return {key: put(inner) for key, inner in value.items()}
            case list():
                return [put(inner) for inner in value]
            case _:
                return value

    return Speech(fill(speech.text), tuple(Call(call.name, put(call.arguments)) for call in speech.calls))


def _speaker(conversation: Conversation) -> Any:
    if "write_file" in conversation.tools:
        return _own
    if "Write" in conversation.tools or "Bash" in conversation.tools:
        return _claude
    return _codex


def _tool(act: Act) -> tuple[str, dict[str, Any]] | None:
    """A call of one of our own tools."""
    if act.kind == "mcp":
        return act.value, act.more.get("input", {})
    if act.kind == "ask":
        return "ask_human", {"question": act.value, **act.more}
    if act.kind == "blocked":
        return "task_blocked", {"reason": act.value}
    return None


def _own(act: Act, _: Conversation, __: frozenset[str]) -> tuple[list[str], list[Call]]:
    tool = _tool(act)
    if tool:
        return [], [Call(*tool)]
    match act.kind:
        case "write":
            return [], [Call("write_file", {"path": act.value, "content": act.more["text"]})]
        case "edit":
            return [], [Call("edit_file", {"path": act.value, **act.more})]
        case "shell":
            return [], [Call("run_command", {"command": act.value})]
        case "read":
            return [], [Call("read_file", {"path": act.value})]
        case "done":
            return [], [Call("task_done", {"summary": act.value})]
        case _:
            return [act.value], []


WORKING = re.compile(r"[Ww]orking directory: *(\S+)")


def _claude(act: Act, conversation: Conversation, there: frozenset[str]) -> tuple[list[str], list[Call]]:
    tool = _tool(act)
    if tool:
        return [], [Call(f"mcp__unstuck__{tool[0]}", tool[1])]
    found = WORKING.search(conversation.system + "\n".join(conversation.humans))
    folder = found.group(1) if found else "."
    path = f"{folder}/{act.value}"
    first = [Call("Read", {"file_path": path})] if act.value in there else []
    match act.kind:
        case "write":
            return [], [*first, Call("Write", {"file_path": path, "content": act.more["text"]})]
        case "edit":
            edit = {"file_path": path, "old_string": act.more["old"], "new_string": act.more["new"]}
            return [], [Call("Read", {"file_path": path}), Call("Edit", edit)]
        case "shell":
            return [], [Call("Bash", {"command": act.value, "description": "Run a command"})]
        case "read":
            return [], [Call("Read", {"file_path": path})]
        case _:
            return [act.value], []


def _codex(act: Act, _: Conversation, __: frozenset[str]) -> tuple[list[str], list[Call]]:
    tool = _tool(act)
    if tool:
        return [], [Call(f"mcp__unstuck__{tool[0]}", tool[1])]
    match act.kind:
        case "write":
            return [], [Call("exec_command", {"cmd": _written(act.value, act.more["text"])})]
        case "edit":
            return [], [Call("exec_command", {"cmd": _edited(act)})]
        case "shell":
            return [], [Call("exec_command", {"cmd": act.value})]
        case "read":
            return [], [Call("exec_command", {"cmd": f"cat {shlex.quote(act.value)}"})]
        case _:
            return [act.value], []


def _written(path: str, text: str) -> str:
    name = shlex.quote(path)
    return f"mkdir -p \"$(dirname {name})\" && printf %s {shlex.quote(text)} > {name}"


def _edited(act: Act) -> str:
    code = "import sys; p, o, n = sys.argv[1:]; t = open(p).read(); assert o in t; open(p, 'w').write(t.replace(o, n, 1))"
    return " ".join(["python3", "-c", shlex.quote(code), *(shlex.quote(part) for part in (act.value, act.more["old"], act.more["new"]))])


# --- Success, as a stream or whole ----------------------------------------------------------------


def events(speech: Speech, conversation: Conversation, number: int) -> list[str]:
    """The events of a stream."""
    return {"messages": _messages_events, "chat": _chat_events, "responses": _responses_events}[conversation.wire](
        speech, conversation, number
    )


def whole(speech: Speech, conversation: Conversation, number: int) -> dict[str, Any]:
    """The answer in one piece."""
    return {"messages": _messages_whole, "chat": _chat_whole, "responses": _responses_whole}[conversation.wire](
        speech, conversation, number
    )


def _named(data: dict[str, Any]) -> str:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


def _messages_content(speech: Speech, number: int) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": speech.text}] if speech.text else []
    calls = [
        {"type": "tool_use", "id": f"toolu_night_{number}_{index}", "name": call.name, "input": call.arguments}
        for index, call in enumerate(speech.calls)
    ]
    return [*text, *calls]


def _messages_whole(speech: Speech, conversation: Conversation, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_night_{number}",
        "type": "message",
        "role": "assistant",
        "model": conversation.model,
        "content": _messages_content(speech, number),
        "stop_reason": "tool_use" if speech.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": USED["input"] - USED["cached"],
            "cache_read_input_tokens": USED["cached"],
            "cache_creation_input_tokens": 0,
            "output_tokens": USED["output"],
        },
    }


def _messages_events(speech: Speech, conversation: Conversation, number: int) -> list[str]:
    message = _messages_whole(speech, conversation, number)
    stop = message["stop_reason"]
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    told = [_named({"type": "message_start", "message": start}), _named({"type": "ping"})]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            begun = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        told.append(_named({"type": "content_block_start", "index": index, "content_block": begun}))
        told.append(_named({"type": "content_block_delta", "index": index, "delta": delta}))
        told.append(_named({"type": "content_block_stop", "index": index}))
    end = {"stop_reason": stop, "stop_sequence": None}
    told.append(_named({"type": "message_delta", "delta": end, "usage": {"output_tokens": USED["output"]}}))
    told.append(_named({"type": "message_stop"}))
    return told


def _responses_output(speech: Speech, number: int) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = []
    if speech.text:
        content = [{"type": "output_text", "text": speech.text, "annotations": []}]
        output.append(
            {"type": "message", "id": f"msg_night_{number}", "role": "assistant", "status": "completed", "content": content}
        )
    for index, call in enumerate(speech.calls):
        server, _, tool = call.name.rpartition("__")
        item = {
            "type": "function_call",
            "id": f"fc_night_{number}_{index}",
            "call_id": f"call_night_{number}_{index}",
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
        if server.startswith("mcp__"):
            item.update(name=tool, namespace=server)
        output.append(item)
    return output


def _responses_whole(speech: Speech, conversation: Conversation, number: int) -> dict[str, Any]:
    return {
        "id": f"resp_night_{number}",
        "object": "response",
        "model": conversation.model,
        "status": "completed",
        "output": _responses_output(speech, number),
        "incomplete_details": None,
        "usage": {
            "input_tokens": USED["input"],
            "input_tokens_details": {"cached_tokens": USED["cached"]},
            "output_tokens": USED["output"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": USED["input"] + USED["output"],
        },
    }


def _responses_events(speech: Speech, conversation: Conversation, number: int) -> list[str]:
    response = _responses_whole(speech, conversation, number)
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    told = [_named({"type": "response.created", "response": begun})]
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            empty = {**item, "content": []}
            delta = {"type": "response.output_text.delta", "delta": item["content"][0]["text"], **place}
        else:
            empty = {**item, "arguments": ""}
            delta = {"type": "response.function_call_arguments.delta", "delta": item["arguments"], **place}
        told.append(_named({"type": "response.output_item.added", "output_index": index, "item": empty}))
        told.append(_named(delta))
        told.append(_named({"type": "response.output_item.done", "output_index": index, "item": item}))
    told.append(_named({"type": "response.completed", "response": response}))
    return told


def _chat_calls(speech: Speech, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_night_{number}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(speech.calls)
    ]


CHAT_USAGE = {
    "prompt_tokens": USED["input"],
    "completion_tokens": USED["output"],
    "total_tokens": USED["input"] + USED["output"],
    "prompt_tokens_details": {"cached_tokens": USED["cached"]},
}


def _chat_whole(speech: Speech, conversation: Conversation, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": speech.text}
    if speech.calls:
        message["tool_calls"] = _chat_calls(speech, number)
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if speech.calls else "stop"}
    envelope = {"id": f"chatcmpl-night-{number}", "object": "chat.completion", "created": 0}
    return {**envelope, "model": conversation.model, "choices": [choice], "usage": CHAT_USAGE}


def _chat_events(speech: Speech, conversation: Conversation, number: int) -> list[str]:
    envelope = {
        "id": f"chatcmpl-night-{number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": conversation.model,
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps({**envelope, 'choices': [choice]})}\n\n"

    told = [chunk({"role": "assistant", "content": speech.text})]
    for index, call in enumerate(_chat_calls(speech, number)):
        told.append(chunk({"tool_calls": [{**call, "index": index}]}))
    told.append(chunk({}, "tool_calls" if speech.calls else "stop"))
    told.append(f"data: {json.dumps({**envelope, 'choices': [], 'usage': CHAT_USAGE})}\n\n")
    told.append("data: [DONE]\n\n")
    return told


# --- Failure ----------------------------------------------------------------------------------------

ANTHROPIC_ERRORS = {
    "400": (400, "invalid_request_error", "messages.0.content: something is invalid"),
    "401": (401, "authentication_error", "invalid x-api-key"),
    "403": (403, "permission_error", "Your API key has no permission."),
    "404": (404, "not_found_error", "model: claude-night-1"),
    "429": (429, "rate_limit_error", "This request would exceed your rate limit."),
    "usage": (429, "rate_limit_error", "This request would exceed your plan's limit."),
    "quota": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    "500": (500, "api_error", "Internal server error"),
    "503": (503, "api_error", "Service unavailable"),
    "529": (529, "overloaded_error", "Overloaded"),
    "context": (400, "invalid_request_error", "prompt is too long: 205000 tokens > 200000 maximum"),
}

OPENAI_ERRORS = {
    "400": (400, "invalid_request_error", "invalid_value", "Invalid value: foo"),
    "401": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "403": (403, "invalid_request_error", None, "You have no permission."),
    "404": (404, "invalid_request_error", "model_not_found", "The model does not exist."),
    "429": (429, "requests", "rate_limit_exceeded", "Rate limit reached."),
    "usage": (429, "usage_limit_reached", None, "The usage limit is reached"),
    "quota": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
    "500": (500, "server_error", None, "The server had an error."),
    "503": (503, "server_error", None, "Service unavailable."),
    "529": (503, "server_error", "server_is_overloaded", "The server is overloaded."),
    "context": (400, "invalid_request_error", "context_length_exceeded", "Your input exceeds the context window of this model."),
}


def refusal(fault: Fault, wire: str, now: float) -> Refusal | None:
    """The answer of a fault that has one; none where the connection itself fails."""
    if fault.name not in ANTHROPIC_ERRORS:
        return None
    headers = [("retry-after", str(fault.retry_after))] if fault.retry_after is not None else []
    reset = None if fault.reset_in is None else int(now) + fault.reset_in
    if wire == "messages":
        status, kind, message = ANTHROPIC_ERRORS[fault.name]
        if fault.name == "usage":
            headers.append(("anthropic-ratelimit-unified-status", "rejected"))
            headers.append(("anthropic-ratelimit-unified-representative-claim", "five_hour"))
            headers.extend([("anthropic-ratelimit-unified-reset", str(reset))] if reset else [])
        body: dict[str, Any] = {"type": "error", "error": {"type": kind, "message": message}, "request_id": REQUEST_ID}
        return Refusal(status, body, tuple(headers))
    status, kind, code, message = OPENAI_ERRORS[fault.name]
    if fault.retry_after is not None:
        message = f"{message} Please try again in {fault.retry_after}s."
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    if reset is not None:
        body["error"]["resets_at"] = reset
        body["error"]["resets_in_seconds"] = fault.reset_in
    return Refusal(status, body, tuple(headers))
