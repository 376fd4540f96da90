"""Amounts as Kubernetes writes them: ``500m``, ``2Gi``, ``1e3``."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

MIB = 2**20
_TOO_MUCH = 2**63  # as in Kubernetes

_QUANTITY = re.compile(
    r"([+-]?\d{1,24}(?:\.\d{0,24})?|[+-]?\.\d{1,24})(?:([eE][+-]?\d{1,2})|(.*))", re.A
)
_UNITS = {
    **{"": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")},
    **{unit: Decimal(1000) ** n for n, unit in enumerate(["k", "M", "G", "T", "P", "E"], 1)},
    **{f"{unit}i": Decimal(1024) ** n for n, unit in enumerate("KMGTPE", 1)},
}


def parse(value: Any) -> Decimal:
    """The amount in units; ValueError with the problem if it is invalid."""
    text = str(value).strip() if isinstance(value, (str, int, float)) else ""
    found = None if isinstance(value, bool) else _QUANTITY.fullmatch(text)
    unit = _UNITS.get(found[3] or "") if found else None
    if not found or unit is None:
        raise ValueError(f"must be an amount such as 500m or 2Gi, got {value!r}")
    amount = Decimal(found[1] + (found[2] or "")) * unit
    if amount < 0:
        raise ValueError(f"must not be negative, got {value!r}")
    if amount >= _TOO_MUCH:
        raise ValueError(f"must be below 8Ei, got {value!r}")
    return amount


def plain(amount: Decimal) -> int | float:
    """A whole number where it is one."""
    return int(amount) if amount == int(amount) else float(amount)


def cores(cpus: float) -> str:
    """An amount of CPUs; ValueError if it is too fine for Kubernetes."""
    thousandths = Decimal(repr(cpus)) * 1000
    if thousandths != int(thousandths):
        raise ValueError(f"must be a multiple of 0.001 in Kubernetes, got {cpus!r}")
    whole, rest = divmod(int(thousandths), 1000)
    return f"{int(thousandths)}m" if rest else str(whole)


def size(mebibytes: float) -> str:
    """An amount of memory or disk; ValueError if it is not a whole number of bytes."""
    amount = Decimal(mebibytes) * MIB
    if amount != int(amount):
        raise ValueError(f"must be a whole number of bytes in Kubernetes, got {mebibytes!r} MiB")
    return f"{int(amount) // MIB}Mi" if int(amount) % MIB == 0 else str(int(amount))
