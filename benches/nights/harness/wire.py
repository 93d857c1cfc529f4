"""The three wires: how a request is read, and how an answer looks on it."""

from __future__ import annotations

import json
from typing import Any

from harness.brain import Conversation
from harness.words import Speech

USED = {"input": 100, "cached": 10, "output": 20}
"""The tokens that a turn uses which does not say how many it writes."""


def _written(speech: Speech) -> int:
    return speech.tokens or USED["output"]


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
        "stop_reason": speech.stop or ("tool_use" if speech.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": USED["input"] - USED["cached"],
            "cache_read_input_tokens": USED["cached"],
            "cache_creation_input_tokens": 0,
            "output_tokens": _written(speech),
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
    told.append(_named({"type": "message_delta", "delta": end, "usage": {"output_tokens": _written(speech)}}))
    told.append(_named({"type": "message_stop"}))
    return told


def _responses_output(speech: Speech, number: int) -> list[dict[str, Any]]:
    output: list[dict[str, Any]] = []
    if speech.text:
        spoken = {"type": "output_text", "text": speech.text, "annotations": []}
        content = [{"type": "refusal", "refusal": speech.text} if speech.stop == "refusal" else spoken]
        message = {"type": "message", "id": f"msg_night_{number}", "role": "assistant", "status": "completed"}
        output.append({**message, "content": content})
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
    cut = speech.stop == "max_tokens"
    return {
        "id": f"resp_night_{number}",
        "object": "response",
        "model": conversation.model,
        "status": "incomplete" if cut else "completed",
        "output": _responses_output(speech, number),
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "usage": {
            "input_tokens": USED["input"],
            "input_tokens_details": {"cached_tokens": USED["cached"]},
            "output_tokens": _written(speech),
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": USED["input"] + _written(speech),
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
            delta = {"type": "response.output_text.delta", "delta": speech.text, **place}
            if speech.stop == "refusal":
                delta["type"] = "response.refusal.delta"
        else:
            empty = {**item, "arguments": ""}
            delta = {"type": "response.function_call_arguments.delta", "delta": item["arguments"], **place}
        told.append(_named({"type": "response.output_item.added", "output_index": index, "item": empty}))
        told.append(_named(delta))
        told.append(_named({"type": "response.output_item.done", "output_index": index, "item": item}))
    told.append(_named({"type": f"response.{response['status']}", "response": response}))
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


def _chat_usage(speech: Speech) -> dict[str, Any]:
    return {
        "prompt_tokens": USED["input"],
        "completion_tokens": _written(speech),
        "total_tokens": USED["input"] + _written(speech),
        "prompt_tokens_details": {"cached_tokens": USED["cached"]},
    }


CHAT_STOPS = {"refusal": "content_filter", "max_tokens": "length"}


def _chat_finish(speech: Speech) -> str:
    return CHAT_STOPS.get(speech.stop) or ("tool_calls" if speech.calls else "stop")


def _chat_whole(speech: Speech, conversation: Conversation, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": speech.text}
    if speech.calls:
        message["tool_calls"] = _chat_calls(speech, number)
    choice = {"index": 0, "message": message, "finish_reason": _chat_finish(speech)}
    envelope = {"id": f"chatcmpl-night-{number}", "object": "chat.completion", "created": 0}
    return {**envelope, "model": conversation.model, "choices": [choice], "usage": _chat_usage(speech)}


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
    told.append(chunk({}, _chat_finish(speech)))
    told.append(f"data: {json.dumps({**envelope, 'choices': [], 'usage': _chat_usage(speech)})}\n\n")
    told.append("data: [DONE]\n\n")
    return told
