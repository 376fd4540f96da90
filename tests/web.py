"""A web server on this machine, with a few pages, or one that never answers."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def web_server(pages, tls=None):
    """The URL of a server. *pages*: path -> bytes, or a pair of status and headers."""

    class Handler(_Silent):
        def do_GET(self):
            page = pages.get(self.path, (404, {}))
            status, headers = (200, {}) if isinstance(page, bytes) else page
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if isinstance(page, bytes):
                self.wfile.write(page)

    with _serving(Handler, tls) as url:
        yield url


@contextmanager
def hanging_server():
    """The URL of a server that never answers, and the event that somebody has asked."""
    is_asked, is_over = threading.Event(), threading.Event()

    class Handler(_Silent):
        def do_GET(self):
            is_asked.set()
            is_over.wait()

    with _serving(Handler) as url:
        try:
            yield url, is_asked
        finally:
            is_over.set()


@contextmanager
def dripping_server(answer, every):
    """The URL of a server that sends *answer*, and then a byte every so many seconds."""
    is_over = threading.Event()

    class Handler(_Silent):
        def do_GET(self):
            self.wfile.write(answer)
            while not is_over.wait(every):
                try:
                    self.wfile.write(b"x")
                except OSError:
                    return

    with _serving(Handler) as url:
        try:
            yield url
        finally:
            is_over.set()


class _Silent(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def _serving(handler, tls=None):
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
