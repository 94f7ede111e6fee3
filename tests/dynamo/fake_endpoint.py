"""A small OpenAI-compatible endpoint on loopback that behaves, or misbehaves, as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CLASS_HEADER = "x-dynamo-meta-policy-class"


@dataclass
class Seen:
    """One request as it came in."""

    method: str
    path: str
    policy_class: str | None
    authorization: str | None
    body: dict[str, Any]
    number: int


class Reply:
    """What a handler may do with its request."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._handler = handler

    def whole(self, status: int, content: Any, content_type: str = "application/json", **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler = self._handler
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def start_stream(self) -> None:
        handler = self._handler
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()

    def piece(self, data: bytes) -> None:
        self._handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self._handler.wfile.flush()

    def event(self, content: Any) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        self.piece(f"data: {text}\n\n".encode())

    def end(self) -> None:
        self._handler.wfile.write(b"0\r\n\r\n")

    def hang_up(self) -> None:
        self._handler.close_connection = True
        self._handler.connection.close()

    def answer(self, tokens: int = 1, pause_s: float = 0.0) -> None:
        """A proper streamed completion."""
        self.start_stream()
        for number in range(tokens):
            time.sleep(pause_s)
            last = number == tokens - 1
            self.event({"choices": [{"index": 0, "text": "w1 ", "finish_reason": "length" if last else None}]})
        self.event("[DONE]")
        self.end()


Behaviour = Callable[[Seen, Reply], None]


def answers(seen: Seen, reply: Reply) -> None:
    reply.answer()


@dataclass
class FakeEndpoint:
    """Serve as a context manager; ``behaviour`` is called for every POST. GET lists ``models``."""

    behaviour: Behaviour = answers
    models: Any = None
    key: str | None = None
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> FakeEndpoint:
        fake = self
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def log_message(self, *args: object) -> None:
                return

            def note(self, body: dict[str, Any]) -> Seen:
                with lock:
                    posts = sum(seen.method == "POST" for seen in fake.seen)
                    headers = self.headers
                    seen = Seen(self.command, self.path, headers[CLASS_HEADER], headers["Authorization"], body, posts)
                    fake.seen.append(seen)
                return seen

            def do_GET(self) -> None:
                seen = self.note({})
                if fake.key is not None and seen.authorization != f"Bearer {fake.key}":
                    Reply(self).whole(401, {"error": {"message": "Invalid key"}})
                elif callable(fake.models):
                    fake.models(seen, Reply(self))
                else:
                    Reply(self).whole(200, {"data": [{"id": name} for name in fake.models or ["m"]]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.behaviour(self.note(body), Reply(self))

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 1024

            def handle_error(self, *args: object) -> None:
                return

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def posts(self) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == "POST"]


class ScriptedWorker:
    """Serves one request at a time once all have come, classes in turn as a pattern says: an endpoint with an order."""

    def __init__(self, count: int, pattern: str, names: dict[str, str]) -> None:
        self._count, self._pattern, self._names = count, pattern, names
        self._waiting: dict[str, list[threading.Event]] = {name: [] for name in names.values()}
        self._ended = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._came = 0

    def __call__(self, seen: Seen, reply: Reply) -> None:
        turn = threading.Event()
        with self._lock:
            self._waiting[seen.policy_class or ""].append(turn)
            self._came += 1
            if self._came == self._count:
                threading.Thread(target=self._serve, daemon=True).start()
        turn.wait(20)
        reply.answer()
        self._ended.release()

    def _serve(self) -> None:
        place = 0
        while any(self._waiting.values()):
            name = self._names[self._pattern[place % len(self._pattern)]]
            place += 1
            if self._waiting[name]:
                self._waiting[name].pop(0).set()
                self._ended.acquire(timeout=5)
                time.sleep(0.002)
