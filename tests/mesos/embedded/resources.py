"""What an agent has, a task asks for and an offer holds: exact arithmetic on Mesos resources.

Scalars are counted in thousandths, as Mesos does, so that ten times 0.1 cpus are 1 cpu.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tfmesos.errors import SpecError
from tfmesos.json_types import Json
from tfmesos.record import NOTHING, Record

Ranges = tuple[tuple[int, int], ...]
Amount = int | Ranges | frozenset[str]  # a scalar is an int, in thousandths
Key = tuple[str, str]  # SCALAR, RANGES or SET, and the name

SCALAR, RANGES, SET = "SCALAR", "RANGES", "SET"

_EXAMPLE = "for example 'cpus:8;mem:16384;gpus:2;ports:[31000-32000]'"


class Resources(Record):
    """Amounts by kind and name, in the order they were given. Zero amounts are not kept."""

    amounts: Mapping[Key, Amount] = NOTHING

    def __bool__(self) -> bool:
        return bool(self.amounts)

    def __add__(self, other: Resources) -> Resources:
        both = {k: _add(a, other.amounts[k]) for k, a in self.amounts.items() if k in other.amounts}
        return Resources({**self.amounts, **other.amounts, **both})

    def __sub__(self, other: Resources) -> Resources:
        rest = {k: _cut(a, other.amounts[k]) for k, a in self.amounts.items() if k in other.amounts}
        return Resources({k: a for k, a in {**self.amounts, **rest}.items() if a})

    def covers(self, other: Resources) -> bool:
        mine = self.amounts
        return all(k in mine and _covers(mine[k], wanted) for k, wanted in other.amounts.items())

    def scalar(self, name: str) -> float:
        amount = self.amounts.get((SCALAR, name), 0)
        return amount / 1000 if isinstance(amount, int) else 0.0

    def dominant_share(self, whole: Resources) -> float:
        names = [name for kind, name in self.amounts if kind == SCALAR]
        return max((self.scalar(n) / whole.scalar(n) for n in names if whole.scalar(n)), default=0)

    def to_json(self, extra: Json) -> list[Json]:
        """As in an offer; *extra* (role, allocation_info) goes into each entry."""
        return [
            {"name": name, "type": kind, **_value_json(amount), **extra}
            for (kind, name), amount in self.amounts.items()
        ]

    def summary(self) -> Json:
        """As in the operator endpoints, which always name these four."""
        result: Json = {name: self.scalar(name) for name in ("disk", "mem", "gpus", "cpus")}
        for (kind, name), amount in self.amounts.items():
            result[name] = self.scalar(name) if kind == SCALAR else _text(amount)
        return result

    def text(self, role: str) -> str:
        """As in the messages of the master: ``cpus(allocated: *):0.1; mem(allocated: *):32``."""
        entries = self.amounts.items()
        return "; ".join(f"{_allocated(name, role)}:{_text(a)}" for (_kind, name), a in entries)


def total(parts: Iterable[Resources]) -> Resources:
    return sum(parts, start=Resources())


def from_json(entries: Iterable[Json], role: str = "*") -> Resources:
    """The resources of a TaskInfo. What is reserved or allocated to another role than *role*
    gets a name of its own, which no embedded agent has."""
    result = Resources()
    for entry in entries:
        result = result + _entry(entry, role)
    return result


def _entry(entry: Json, role: str) -> Resources:
    name, kind = entry["name"] + _foreign(entry, role), entry["type"]
    if kind == SCALAR:
        return _one(kind, name, round(entry.get("scalar", {}).get("value", 0) * 1000))
    if kind == RANGES:
        listed = entry.get("ranges", {}).get("range", [])
        return _one(kind, name, _normal((int(r["begin"]), int(r["end"])) for r in listed))
    return _one(SET, name, frozenset(entry.get("set", {}).get("item", [])))


def _one(kind: str, name: str, amount: Amount) -> Resources:
    return Resources({(kind, name): amount} if amount else {})


def _foreign(entry: Json, role: str) -> str:
    reserved = [r.get("role", "*") for r in entry.get("reservations", [])]
    owner = reserved[-1] if reserved else entry.get("role", "*")
    allocated = entry.get("allocation_info", {}).get("role", role)
    mark = "" if owner == "*" else f"(reservations: [(STATIC,{owner})])"
    return mark + ("" if allocated == role else f"(allocated: {allocated})")


def _allocated(name: str, role: str) -> str:
    """With the role, unless it names another one already."""
    plain, bracket, mark = name.partition("(")
    if "allocated: " in mark:
        return name
    return f"{plain}(allocated: {role}){bracket}{mark}"


def parse(text: str) -> Resources:
    """Read the notation of ``mesos-agent --resources``; raise SpecError on anything else."""
    result = Resources()
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        name, colon, value = (word.strip() for word in part.partition(":"))
        if not (colon and re.fullmatch(r"[A-Za-z_][\w.-]*", name)):
            raise _bad(text, f"{part!r} is not NAME:AMOUNT")
        result = result + _parse_amount(text, name, value)
    for name in ("cpus", "mem"):
        if not result.scalar(name):
            raise _bad(text, f"{name} is missing")
    if result.scalar("gpus") % 1:
        raise _bad(text, "gpus must be a whole number")
    return result


def _parse_amount(text: str, name: str, value: str) -> Resources:
    if re.fullmatch(r"\d{1,12}(\.\d+)?", value):
        return _one(SCALAR, name, round(float(value) * 1000))
    if found := re.fullmatch(r"\[(.*)\]", value):
        pairs = [re.fullmatch(r"\s*(\d{1,18})\s*-\s*(\d{1,18})\s*", p) for p in found[1].split(",")]
        if all(pairs):
            return _one(RANGES, name, _normal((int(p[1]), int(p[2])) for p in pairs if p))
    if found := re.fullmatch(r"\{(.+)\}", value):
        return _one(SET, name, frozenset(item.strip() for item in found[1].split(",")))
    raise _bad(text, f"{name}:{value} is neither a number, nor [FROM-TO], nor {{a,b}}")


def _bad(text: str, why: str) -> SpecError:
    return SpecError(None, "resources", f"{text!r} cannot be read: {why}; write it {_EXAMPLE}")


def parse_attributes(text: str) -> list[Json]:
    """Read the notation of ``mesos-agent --attributes``: ``rack:r1;weight:2;span:[1-3]``."""
    result = []
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        name, colon, value = (word.strip() for word in part.partition(":"))
        if not (colon and name and value):
            problem = (
                f"{text!r} cannot be read: {part!r} is not NAME:VALUE; write it 'rack:r1;zone:a'"
            )
            raise SpecError(None, "attributes", problem)
        result.append(_attribute(name, value))
    return result


def _attribute(name: str, value: str) -> Json:
    if re.fullmatch(r"-?\d+(\.\d+)?", value):
        return {"name": name, "type": "SCALAR", "scalar": {"value": float(value)}}
    if found := re.fullmatch(r"\[(\d+)-(\d+)\]", value):
        pair = {"begin": int(found[1]), "end": int(found[2])}
        return {"name": name, "type": "RANGES", "ranges": {"range": [pair]}}
    return {"name": name, "type": "TEXT", "text": {"value": value}}


def number_text(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _add(one: Amount, other: Amount) -> Amount:
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return one | other
    return _normal([*_ranges(one), *_ranges(other)])


def _cut(one: Amount, other: Amount) -> Amount:
    if isinstance(one, int) and isinstance(other, int):
        return one - other
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return one - other
    return _without(_ranges(one), _ranges(other))


def _covers(one: Amount, wanted: Amount) -> bool:
    if isinstance(one, int) and isinstance(wanted, int):
        return wanted <= one
    return not _cut(wanted, one)


def _ranges(amount: Amount) -> Ranges:
    return amount if isinstance(amount, tuple) else ()


def _normal(pairs: Iterable[tuple[int, int]]) -> Ranges:
    result: list[tuple[int, int]] = []
    for begin, end in sorted(pair for pair in pairs if pair[0] <= pair[1]):
        if result and begin <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((begin, end))
    return tuple(result)


def _without(ranges: Ranges, away: Ranges) -> Ranges:
    for begin, end in away:
        left = [(b, min(e, begin - 1)) for b, e in ranges]
        right = [(max(b, end + 1), e) for b, e in ranges]
        ranges = _normal([*left, *right])
    return ranges


def _text(amount: Amount) -> str:
    if isinstance(amount, int):
        return number_text(amount / 1000)
    if isinstance(amount, frozenset):
        return "{" + ", ".join(sorted(amount)) + "}"
    return "[" + ", ".join(f"{begin}-{end}" for begin, end in amount) + "]"


def _value_json(amount: Amount) -> Json:
    if isinstance(amount, int):
        return {"scalar": {"value": amount / 1000}}
    if isinstance(amount, frozenset):
        return {"set": {"item": sorted(amount)}}
    return {"ranges": {"range": [{"begin": begin, "end": end} for begin, end in amount]}}
