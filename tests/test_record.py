from __future__ import annotations

import pytest

from tests.sentences import names
from tfmesos.record import Record


class Point(Record):
    x: int
    y: int = 0

    @property
    def sum(self) -> int:
        return self.x + self.y


class Other(Record):
    x: int
    y: int = 0


class Checked(Record):
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("negative")


def test_a_record_takes_its_fields_by_position_and_by_name():
    assert (Point(1).y, Point(1, 2).sum, Point(y=5, x=1).sum) == (0, 3, 6)


@pytest.mark.parametrize(
    "args, named", [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_a_record_refuses_what_does_not_fit_its_fields(args, named):
    with pytest.raises(TypeError, match=r"^Point takes x, y; "):
        Point(*args, **named)


def test_a_misspelt_field_of_a_record_is_named_with_the_nearest_right_one():
    with pytest.raises(TypeError) as caught:
        Checked(sise=1)
    assert names(str(caught.value), "Checked", "not sise", "did you mean size?")


def test_a_missing_field_of_a_record_is_named():
    with pytest.raises(TypeError) as caught:
        Point(y=1)
    assert str(caught.value) == "Point takes x, y; x is missing"


def test_records_are_equal_when_kind_and_fields_are():
    assert Point(1) == Point(1, 0)
    assert hash(Point(1)) == hash(Point(1, 0))
    assert Point(1) != Point(2)
    assert Point(1) != Other(1)
    assert Point(1) != (1, 0)


def test_a_record_cannot_be_changed_but_a_changed_one_can_be_made():
    point = Point(1, 2)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    with pytest.raises(AttributeError):
        point.z = 2  # type: ignore[attr-defined]
    assert point.replace(y=7) == Point(1, 7)
    assert point == Point(1, 2)


def test_a_record_shows_its_fields_and_can_be_matched():
    assert repr(Point(1, 2)) == "Point(x=1, y=2)"
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_record_checks_itself_also_when_it_is_changed():
    with pytest.raises(ValueError, match="negative"):
        Checked(1).replace(size=-1)
