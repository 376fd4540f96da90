"""A genuine Kubernetes 1.20 of three nodes, built and run on this machine.

One cluster serves all tests of a session; each test has a namespace of its own. A test asks for
one of these fixtures (``conftest.py``):

``kube``        a `Namespace`: ``kube.name``, ``kube.kubeconfig`` (current context: a user with
                nothing but the Role of ``docs/kubernetes.rst`` there), ``kube.user`` and
                ``kube.admin`` to ask the API as that user or as the administrator, and
                ``kube.pods()``. ``$KUBECONFIG`` is set, so ``tfrun -m k8s://`` simply works.
                The test fails if it leaves a pod, a Secret or a ConfigMap.
``own_cluster`` the `Kubernetes` itself, to break it: ``own_cluster.node("node-1")``,
                ``kill_apiserver()``, ``start_apiserver()``, ``spare_node(...)``; see ``cluster.py``

``IMAGE`` is an image with Python 3.11, on every node. There is no registry and no way out: nothing
can be pulled. Nodes have two CPUs and 4 GiB each and the labels of ``conftest.NODES``.

``python -m tests.kubernetes.genuine`` starts such a cluster and keeps it until it is interrupted;
with ``$TFMESOS_TEST_KUBERNETES`` set to the directory that it prints the tests use that one,
which saves half a minute each time. Tests that break a daemon start a cluster of their own then.

With ``$TFMESOS_TEST_KUBECONFIG`` and ``$TFMESOS_TEST_IMAGE`` they use any cluster. Tests that need
our own nodes have the mark ``rig``, which says why.
"""
