"""Raw output of a command, cut into lines of text."""

from __future__ import annotations

import codecs

MAX_LINE = 64 * 1024  # characters; a longer line is sent in pieces


class LineSplitter:
    """Raw output in, whole lines of text out; what is not UTF-8 is shown as ``\\xff``.

    Of a line that was rewritten by ``\\r``, such as a progress bar, only the last state is kept.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._rest = ""
        self._is_rewritten = False

    @property
    def progress(self) -> str:
        """The present state of the line that is being rewritten; empty if there is none."""
        return self._rest.rstrip("\r") if self._is_rewritten else ""

    def feed(self, data: bytes) -> str:
        """The lines, or pieces of very long lines, that are complete now, each with its end."""
        return self._split(self._decoder.decode(data))

    def close(self) -> str:
        """What is left of the last line."""
        lines = self._split(self._decoder.decode(b"", True))
        rest = self._rest
        self._rest = ""
        self._is_rewritten = False
        return f"{lines}{_last_state(rest)}\n" if rest else lines

    def _split(self, text: str) -> str:
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if "\r" in whole:
            whole = "\n".join(map(_last_state, whole.split("\n")))
        if len(whole) > MAX_LINE:
            whole = "\n".join(piece for line in whole.split("\n") for piece in _pieces(line))
        whole += end
        self._is_rewritten = (self._is_rewritten and not end) or "\r" in self._rest
        if "\r" in self._rest:
            state = self._rest.rstrip("\r")
            self._rest = state.rpartition("\r")[2] + self._rest[len(state) :][:1]
        if len(self._rest) > MAX_LINE:
            *full, self._rest = _pieces(self._rest)
            whole += "".join(piece + "\n" for piece in full)
        return whole


def _last_state(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


def _pieces(line: str) -> list[str]:
    return [line[at : at + MAX_LINE] for at in range(0, len(line), MAX_LINE)] or [""]
