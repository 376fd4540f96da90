"""TfJobs as their users write them."""

IMAGE = "registry.example/sample:1"


def replica(kind, replicas=1, **container):
    one = {"name": "tensorflow", "image": IMAGE, **container}
    spec = {"containers": [one], "restartPolicy": "OnFailure"}
    return {"replicas": replicas, "tfReplicaType": kind, "template": {"spec": spec}}


def tf_job(*replicas, spelled="replicaSpecs", **spec):
    """Of the first version."""
    return {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": "example-job"},
        "spec": {spelled: list(replicas), **spec},
    }


def example_job(**container):
    """A master, a worker, and two ps of which nothing is said."""
    default = {"replicas": 2, "tfReplicaType": "PS"}
    return tf_job(replica("MASTER", **container), replica("WORKER", **container), default)


def azure_job():
    """TensorBoard reads from a volume of Azure."""
    gpu = {"resources": {"limits": {"alpha.kubernetes.io/nvidia-gpu": 1}}}
    board = {
        "logDir": "/tmp/tensorflow",
        "volumes": [{"name": "files", "azureFile": {"secretName": "s", "shareName": "data"}}],
        "volumeMounts": [{"name": "files", "mountPath": "/tmp/tensorflow"}],
    }
    return tf_job(replica("MASTER", **gpu), spelled="replica_specs", tensorboard=board)


def gpu_job():
    gpu = {"resources": {"limits": {"alpha.kubernetes.io/nvidia-gpu": 1}}}
    one = {**replica("MASTER", command=["true"], **gpu), "tfPort": 2222}
    return tf_job(one, spelled="replica_specs")
