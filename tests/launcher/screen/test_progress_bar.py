"""Progress bars of tasks are understood: how far they are, and what they say beside the bar."""

from __future__ import annotations

import pytest

from tfmesos.launcher.screen.progress_bar import ProgressBar, progress_bar

TQDM = "Epoch 1:  45%|████▌     | 45/100 [00:10<00:12,  4.50it/s, loss=0.3]"
KERAS = (
    "\x1b[1m 45/100\x1b[0m \x1b[32m━━━━━━━━━\x1b[0m\x1b[37m━━━━━━━━━━━\x1b[0m "
    "\x1b[1m3s\x1b[0m 12ms/step - accuracy: 0.9142 - loss: 0.2967"
)


@pytest.mark.parametrize(
    ("line", "part", "words"),
    [
        (TQDM, 0.45, "Epoch 1: 45% 45/100 [00:10<00:12, 4.50it/s, loss=0.3]"),
        ("Epoch 2/10:  10%|█         | 1/10", 0.1, "Epoch 2/10: 10% 1/10"),
        (" 12%|#2        | 12/100", 0.12, "12% 12/100"),
        (KERAS, 0.45, "45/100 3s 12ms/step - accuracy: 0.9142 - loss: 0.2967"),
        ("45/100 [=====>....] - ETA: 3s - loss: 0.3", 0.45, "45/100 - ETA: 3s - loss: 0.3"),
        ("downloaded 7.5 %", 0.07, "downloaded 7.5 %"),
        ("17it [00:03,  5.0it/s]", None, "17it [00:03, 5.0it/s]"),
        ("step 300/0", None, "step 300/0"),
        ("199%|██| 199/100", 1.0, "199% 199/100"),
        ("\x1b[2J\x1b]0;title\x07evil \u202e3/4", 0.75, "evil 3/4"),
    ],
)
def test_a_progress_bar_is_read(line, part, words):
    found = progress_bar(line)
    assert found.words == words
    assert found.part == (part if part is None else pytest.approx(part))


@pytest.mark.parametrize("line", ["", "   ", "\x1b[0m"])
def test_a_line_of_blanks_is_no_progress_bar(line):
    assert progress_bar(line) is None


@pytest.mark.parametrize(
    ("part", "width", "shown"),
    [
        (0.0, 40, "────────── 45/100"),
        (0.45, 40, "━━━━────── 45/100"),
        (1.0, 40, "━━━━━━━━━━ 45/100"),
        (0.5, 15, "━━─── 45/100"),
        (0.5, 8, "45/100"),
        (None, 40, "45/100"),
    ],
)
def test_the_bar_is_as_long_as_there_is_room(part, width, shown):
    assert ProgressBar(part, "45/100").text(width) == shown
