"""The files of a sandbox, and nothing beside them."""

from __future__ import annotations

import asyncio
import json

from tests.mesos.embedded import LocalMesos

from .asking import NODE
from .wire import Connection, Scheduler, framework, task


def test_the_files_of_a_sandbox_can_be_browsed_read_and_downloaded():
    command = "printf hello; printf oops >&2; mkdir d; echo deep > d/f"

    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            await scheduler.launch(await scheduler.offer(), task("t", command))
            await scheduler.state("t", "TASK_FINISHED")
            connection = await Connection.open(mesos.url)
            virtual = f"/frameworks/{scheduler.framework_id}/executors/t/runs/latest"
            for root in (virtual, str(mesos.sandbox_of("t"))):
                await check(connection, root)
            scheduler.close()
            connection.close()

    async def check(connection, root):
        async def get(what):
            return await connection.request(None, {}, method="GET", path=f"/files/{what}")

        listed = json.loads((await get(f"browse?path={root}")).body)
        assert [entry["path"] for entry in listed] == [
            f"{root}/{n}" for n in ("d", "stderr", "stdout")
        ]
        assert {entry["mode"][0] for entry in listed} == {"d", "-"}
        assert listed[2]["size"] == 5 and listed[2].keys() == listed[0].keys()
        assert listed[0].keys() == {"gid", "mode", "mtime", "nlink", "path", "size", "uid"}
        (deep,) = json.loads((await get(f"browse?path={root}/d/")).body)
        assert deep["path"] == f"{root}/d/f"
        read = await get(f"read?path={root}/stdout&offset=1&length=3")
        assert json.loads(read.body) == {"data": "ell", "offset": 1}
        loaded = await get(f"download?path={root}/d/f")
        assert (loaded.status, loaded.body) == (200, "deep\n")
        assert loaded.headers["Content-Disposition"] == "attachment; filename=f"
        assert loaded.headers["Content-Type"] == "application/octet-stream"
        for what, status, words in [
            (f"read?path={root}", 400, "Cannot read a directory.\n"),
            (f"download?path={root}/d", 400, "Cannot download a directory.\n"),
            ("read?offset=0", 400, "Expecting 'path=value' in query.\n"),
            (f"browse?path={root}/stdout", 404, ""),
            (f"browse?path={root}/nothing", 404, ""),
            ("browse?path=/etc", 404, ""),
            (f"browse?path=/etc{root}", 404, ""),
        ]:
            answer = await get(what)
            assert (answer.status, answer.body) == (status, words), what

    asyncio.run(main())


def test_nothing_outside_a_sandbox_can_be_had_whatever_the_task_put_there(tmp_path):
    (tmp_path / "secret").write_text("hush")
    command = f"ln -s {tmp_path}/secret l; ln -s {tmp_path} d; mkfifo p; mkdir real"

    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            await scheduler.launch(await scheduler.offer(), task("t", command))
            await scheduler.state("t", "TASK_FINISHED")
            root = f"/frameworks/{scheduler.framework_id}/executors/t/runs/latest"
            connection = await Connection.open(mesos.url)
            found = []
            names = [
                "l",
                "d/secret",
                "d",
                "p",
                "../latest/l",
                "real/../../../../..",
                "a%00b",
                "%ff",
            ]
            for name in [*names, "x" * 5000]:
                for verb in ("read", "download", "browse"):
                    path = f"/files/{verb}?path={root}/{name}&offset=0"
                    answer = await connection.request(None, {}, method="GET", path=path)
                    found.append((answer.status, answer.body))
            scheduler.close()
            connection.close()
            return found

    assert set(asyncio.run(main())) == {(404, "")}
