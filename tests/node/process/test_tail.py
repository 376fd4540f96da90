from __future__ import annotations

from tfmesos.node.process.tail import TAIL_CHARACTERS, TAIL_LINES, Tail


def test_the_tail_is_the_last_lines_and_not_too_much_of_them():
    tail = Tail()
    tail.add("".join(f"{number}\n" for number in range(100)))
    assert tail.lines() == [str(number) for number in range(100 - TAIL_LINES, 100)]
    tail.add("y" * TAIL_CHARACTERS + "\n")
    assert tail.lines() == ["y" * TAIL_CHARACTERS]
    tail.add("x" * TAIL_CHARACTERS + "end\n")
    assert tail.lines() == ["x" * (TAIL_CHARACTERS - 3) + "end"]
