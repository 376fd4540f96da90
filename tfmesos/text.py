"""Small pieces of sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def join_names(names: Sequence[str], most: int = 5) -> str:
    """The names, or the first of them and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def agreeing(number: int, one: str, many: str) -> str:
    """The form of a verb or a pronoun for this number."""
    return one if number == 1 else many


def size_text(number: int) -> str:
    """A number of bytes, in units of 1024."""
    amount, units = float(number), ["bytes", "KB", "MB", "GB", "TB"]
    while amount >= 1024 and len(units) > 1:
        amount /= 1024
        units.pop(0)
    return f"{amount:.0f} {units[0]}" if amount == int(amount) else f"{amount:,.1f} {units[0]}"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds."""
    hours, rest = divmod(int(max(seconds, 0)), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"


def time_until(seconds: float) -> str:
    """When something begins."""
    if seconds < 1:
        return "now"
    return f"in {seconds:.0f} s" if seconds < 120 else f"in {seconds / 60:.0f} min"


def shortened(text: str, most: int = 300) -> str:
    """*text* as one line, without its middle if it is too long: the reason often comes last."""
    line = " ".join(text.split())
    half = most // 2
    return line if len(line) <= most else f"{line[:half]}...{line[-half:]}"


def suggestion(
    word: str, known: Iterable[str], shown: Callable[[str], str] = lambda found: found
) -> str:
    """``: did you mean X?`` if one of the *known* words looks like the wrong *word*."""
    from difflib import get_close_matches  # only a mistake needs it

    bare = {flag.lstrip("-"): flag for flag in known}  # all flags look alike in their dashes
    found = get_close_matches(word.lstrip("-"), bare, 1)
    return f": did you mean {shown(bare[found[0]])}?" if found else ""
