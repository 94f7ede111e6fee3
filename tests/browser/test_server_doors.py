"""Who gets in: pages of other sites do not, with the protections of Streamlit as they are set here."""

from __future__ import annotations

import http.client

import pytest

from tests.browser.helpers import StreamlitServer

UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": "streamlit",
}


def answer(server: StreamlitServer, method: str, path: str, headers: dict[str, str]) -> int:
    """The status of an answer; the Host header is taken from ``headers``."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("https://ringside.example", "ringside.example", 101),  # through a proxy that passes the host on
        ("https://elsewhere.example", "ringside.example", 403),
        ("https://ringside.example.elsewhere.example", "ringside.example", 403),
        ("null", "ringside.example", 403),
    ],
)
def test_only_pages_of_the_server_itself_open_a_session(
    app_server: StreamlitServer, origin: str, host: str, status: int
) -> None:
    assert answer(app_server, "GET", "/_stcore/stream", {**UPGRADE, "Host": host, "Origin": origin}) == status


def test_an_upload_without_the_token_is_refused(app_server: StreamlitServer) -> None:
    assert answer(app_server, "PUT", "/_stcore/upload_file/session/file", {"Content-Length": "0"}) == 403
