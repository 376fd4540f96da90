"""What runs in a job with ``args`` and without a command."""

from __future__ import annotations

import pytest

from tfmesos.errors import SpecError
from tfmesos.jobfiles.image_commands import ImageCommand, filled_in, images_wanted, joined
from tfmesos.jobfiles.native import checked, jobs_and_settings

ENTRY = ImageCommand(("python", "t.py"), ("--own",), "/work")


def document(args=(), **more):
    return {"jobs": {"worker": {"args": list(args)}}, "image": "me/train", **more}


def test_arguments_follow_the_entry_point_or_its_own_do():
    assert filled_in(document(["-a"]), {"worker": ENTRY})["jobs"] == {
        "worker": {"cmd": ["python", "t.py", "-a"], "cwd": "/work"}
    }
    assert filled_in(document(), {"worker": ENTRY})["jobs"]["worker"]["cmd"] == [
        *("python", "t.py", "--own")
    ]


def test_a_directory_that_is_given_wins_over_that_of_the_image():
    assert "cwd" not in filled_in(document(cwd="/x"), {"worker": ENTRY})["jobs"]["worker"]


def test_only_jobs_without_a_command_need_to_ask_their_image():
    jobs = {
        "worker": {"args": ["-a"]},
        "chief": {"args": [], "image": "other"},
        "ps": {"serve": True, "args": []},
        "evaluator": {"cmd": "x", "args": ["-a"]},
        "board": {"cmd": "x"},
    }
    wanted = {"worker": "me/train", "chief": "other"}
    assert images_wanted({"jobs": jobs, "image": "me/train"}) == wanted
    assert images_wanted({"jobs": jobs, "image": "me/train", "cmd": "x"}) == {}


@pytest.mark.parametrize("image", [None, ""])
def test_without_an_image_the_command_must_be_named(image):
    with pytest.raises(SpecError, match=r"no image .* the command"):
        images_wanted(document(image=image))


def test_an_image_without_any_command_is_named():
    with pytest.raises(SpecError, match=r"is missing, .* image .* the command"):
        filled_in(document(), {"worker": ImageCommand(())})


def test_a_command_that_is_given_takes_the_place_of_the_entry_point():
    (job,) = jobs_and_settings(checked(document(["-a", "b c"], cmd=["x"])))[0]
    assert job.cmd == ("x", "-a", "b c")
    assert joined("x y", ["-a", "b c"]) == "x y -a 'b c'"
