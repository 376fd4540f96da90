"""A group as the template of tensorflow/ecosystem renders it: an app for each task."""

NAME, PORT = "mnist", 2333


def hosts(job, count, first):
    return ",".join(f"{job}-{i}-{NAME}.marathon.mesos:{first + i}" for i in range(count))


def group(workers=3, servers=2, tensorboard=True, image="", train_dir="/train", mem=4096):
    addresses = {
        "worker": hosts("worker", workers, PORT),
        "ps": hosts("ps", servers, PORT + workers),
    }
    apps = [
        {
            "id": f"{job}-{index}",
            **container(image),
            "args": [
                *("--worker_hosts", addresses["worker"], "--ps_hosts", addresses["ps"]),
                *("--job_name", job, "--task_index", str(index), "--train_dir", train_dir),
            ],
            **amounts(mem),
        }
        for job, count in (("worker", workers), ("ps", servers))
        for index in range(count)
    ]
    board = {"id": "tensorboard", **container(image), "cmd": f"tensorboard --logdir {train_dir}"}
    return {"id": NAME, "apps": [*apps, *([{**board, **amounts(mem)}] if tensorboard else [])]}


def container(image):
    return {"container": {"docker": {"image": image}, "network": "HOST", "type": "MESOS"}}


def amounts(mem):
    return {"cpus": 2, "mem": mem, "instances": 1}
