"""How the services fail: statuses, bodies and headers on each wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

from harness.scenario import Fault

REQUEST_ID = "req_night"


@dataclass(frozen=True)
class Refusal:
    """An answer that is no success."""

    status: int
    body: dict[str, Any]
    headers: tuple[tuple[str, str], ...]


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
    "quota": (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "500": (500, "server_error", None, "The server had an error."),
    "503": (503, "server_error", None, "Service unavailable."),
    "529": (503, "server_error", "server_is_overloaded", "The server is overloaded."),
    "context": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "Your input exceeds the context window of this model.",
    ),
}


def in_stream(wire: str) -> str:
    """The event with which a service breaks a stream off because it is overloaded."""
    if wire == "messages":
        body: dict[str, Any] = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return f"event: error\ndata: {json.dumps(body)}\n\n"
    error = {"code": "server_is_overloaded", "message": "The server is overloaded."}
    if wire == "chat":
        return f"data: {json.dumps({'error': error})}\n\n"
    body = {"type": "response.failed", "response": {"id": "resp_night", "status": "failed", "error": error}}
    return f"event: response.failed\ndata: {json.dumps(body)}\n\n"


def refusal(fault: Fault, wire: str, now: float) -> Refusal | None:
    """The answer of a fault that has one; none where the connection itself fails."""
    if fault.name not in ANTHROPIC_ERRORS:
        return None
    headers = [("retry-after", str(fault.retry_after))] if fault.retry_after is not None else []
    if fault.retry_date_in is not None:
        headers.append(("retry-after", formatdate(now + fault.retry_date_in, usegmt=True)))
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
        headers.append(("x-codex-primary-used-percent", "100"))
        headers.append(("x-codex-primary-window-minutes", "300"))
        headers.append(("x-codex-primary-reset-at", str(reset)))
        body["error"]["resets_at"] = reset
        body["error"]["resets_in_seconds"] = fault.reset_in
    return Refusal(status, body, tuple(headers))
