"""Which cluster k8s:// means, and what a kubeconfig may not say."""

from __future__ import annotations

import base64
import os

import pytest
import yaml

from tests.sentences import names
from tfmesos.engines.kubernetes.api.access import Access
from tfmesos.engines.kubernetes.api.kubeconfig import access, is_inside
from tfmesos.errors import TFMesosError

HIDDEN = "a-secret-of-the-user"
CONTEXTS = {"here": "", "there": "work", "arn:aws:eks/prod": "", "a/b/c": "nested"}


def document(user=None, cluster=None, **changes):
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "one", "cluster": cluster or {"server": "https://10.0.0.1:6443"}}],
        "users": [{"name": "me", "user": user or {"token": HIDDEN}}],
        "contexts": [
            {
                "name": name,
                "context": {"cluster": "one", "user": "me", "namespace": namespace},
            }
            for name, namespace in CONTEXTS.items()
        ],
        **changes,
    }


@pytest.fixture
def found(tmp_path):
    """Reads a master with a kubeconfig of these values."""

    def find(master="k8s://", text=None, **values) -> Access:
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump(document(**values)) if text is None else text)
        return access(master, {"KUBECONFIG": str(path), "HOME": "/none"})

    return find


def refused(call, *args, **values):
    with pytest.raises(TFMesosError) as caught:
        call(*args, **values)
    assert HIDDEN not in str(caught.value) and "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("master", "context", "namespace"),
    [
        ("k8s://", "here", "default"),
        ("k8s:///mine", "here", "mine"),
        ("k8s://here", "here", "default"),
        ("k8s://there", "there", "work"),
        ("k8s://there/mine", "there", "mine"),
        ("k8s://there/", "there", "work"),
        ("k8s://arn:aws:eks/prod", "arn:aws:eks/prod", "default"),
        ("k8s://arn:aws:eks/prod/mine", "arn:aws:eks/prod", "mine"),
        ("k8s://a/b/c", "a/b/c", "nested"),
        ("k8s://a/b/c/d", "a/b/c", "d"),
    ],
)
def test_a_master_names_a_context_and_a_namespace(found, master, context, namespace):
    chosen = found(master)
    assert (chosen.context, chosen.namespace) == (context, namespace)
    assert chosen.server == "https://10.0.0.1:6443"


def test_no_secret_is_in_a_repr(found):
    user = {
        "token": HIDDEN,
        "password": HIDDEN,
        "client-key-data": base64.b64encode(HIDDEN.encode()).decode(),
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "login",
            "args": ["--password", HIDDEN],
            "env": [{"name": "PASSWORD", "value": HIDDEN}],
        },
    }
    chosen = found(user=user)
    assert HIDDEN not in repr(chosen)
    assert chosen.login.token.reveal() == HIDDEN
    assert chosen.login.key.reveal() == HIDDEN


def test_of_several_files_the_first_that_says_something_counts(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_text(yaml.safe_dump({"users": [{"name": "me", "user": {"token": "first"}}]}))
    second.write_text(yaml.safe_dump(document(user={"token": "second"})))
    chosen = access("k8s://", {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}"})
    assert chosen.login.token.reveal() == "first" and chosen.context == "here"


def test_the_file_in_the_home_directory_is_read(tmp_path):
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(yaml.safe_dump(document()))
    assert access("k8s://", {"HOME": str(tmp_path)}).context == "here"


def test_files_count_from_the_folder_of_the_kubeconfig(found, tmp_path):
    (tmp_path / "ca.crt").write_text("authority")
    (tmp_path / "key").write_text(HIDDEN)
    cluster = {
        "server": "https://h/k8s/clusters/c-1/",
        "certificate-authority": "ca.crt",
        "tls-server-name": "kubernetes",
        "insecure-skip-tls-verify": True,
    }
    plugin = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "./login"}
    chosen = found(cluster=cluster, user={"client-key": "key", "tokenFile": "t", "exec": plugin})
    assert (chosen.authority, chosen.login.key.reveal()) == ("authority", HIDDEN)
    assert (chosen.server, chosen.server_name) == ("https://h/k8s/clusters/c-1", "kubernetes")
    assert not chosen.is_verified
    assert chosen.login.token_file == str(tmp_path / "t")
    assert os.path.normpath(chosen.login.plugin.command) == str(tmp_path / "login")


def test_inside_a_cluster_the_service_account_is_used(tmp_path):
    for name, text in {"token": HIDDEN, "ca.crt": "authority", "namespace": "jobs\n"}.items():
        (tmp_path / name).write_text(text)
    pod = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": "/none"}
    chosen = access("k8s://", pod, str(tmp_path))
    assert (chosen.server, chosen.namespace) == ("https://[fd00::1]:443", "jobs")
    assert chosen.login.token_file == str(tmp_path / "token")
    assert access("k8s:///other", pod, str(tmp_path)).namespace == "other"
    assert access("k8s://", pod, str(tmp_path), "usual").namespace == "usual"
    assert access("k8s:///other", pod, str(tmp_path), "usual").namespace == "other"
    error = refused(access, "k8s://prod", pod, str(tmp_path))
    assert names(str(error), "context 'prod'", "no kubeconfig")


def test_without_any_kubeconfig_its_path_is_asked_for():
    error = refused(access, "k8s://", {"HOME": "/none"}, "/none")
    assert "none at ~/.kube/config: set KUBECONFIG" in str(error) and error.exit_code == 66
    error = refused(access, "k8s://", {"KUBECONFIG": "/none/config"}, "/none")
    assert "/none/config" in str(error) and error.exit_code == 66


@pytest.mark.parametrize(
    ("master", "words"),
    [
        ("k8s://ther", "did you mean there?"),
        ("k8s://ther/mine", "did you mean there?"),
        ("k8s://zzz", "it has a/b/c, arn:aws:eks/prod, here, there"),
        ("k8s://here/Mine", "names the namespace 'Mine'"),
        ("k8s://here/" + "a" * 64, "names the namespace"),
    ],
)
def test_a_name_that_is_unknown_or_wrong_is_told(found, master, words):
    error = refused(found, master)
    assert words in str(error) and error.exit_code == 2


PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "command": "login"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"clusters": []}, "needs the cluster 'one' of context 'here'"),
        ({"users": [{"name": "mee", "user": {}}]}, "did you mean mee?"),
        ({"current-context": ""}, "has no current-context; it has a/b/c"),
        ({"current-context": "gone"}, "names the context 'gone'"),
        ({"contexts": "x"}, "needs contexts with a name and a context each"),
        ({"users": [{"name": 1, "user": {}}]}, "needs users with a name"),
        ({"cluster": {"server": "10.0.0.1"}}, "such as https://HOST:PORT"),
        ({"cluster": {"server": "https://a:b@h"}}, "needs a server such as"),
        ({"cluster": {"server": "https://h:99999"}}, "needs a server such as"),
        ({"cluster": {"server": ["x"]}}, "needs a string as server"),
        ({"cluster": {"server": "https://h", "proxy-url": "socks5://p"}}, "socks5 proxies are not"),
        ({"user": {"auth-provider": {"name": "gcp"}}}, "cannot use auth-provider"),
        ({"user": {"as": "root", "as-uid": "1"}}, "cannot use as-uid"),
        ({"user": {"as-groups": ["g"]}}, "needs a user in as"),
        ({"user": {"as": "root", "as-groups": "g"}}, "needs strings as as-groups"),
        ({"user": {"token": 5}}, "needs a string as token"),
        ({"user": {"client-key-data": HIDDEN}}, "needs base64 as client-key-data"),
        ({"user": {"client-certificate-data": "eA=="}}, "needs a client-key"),
        ({"user": {"exec": "login"}}, "needs keys and values as exec"),
        ({"user": {"exec": {**PLUGIN, "apiVersion": "v1"}}}, "needs apiVersion"),
        ({"user": {"exec": {**PLUGIN, "interactiveMode": "Always"}}}, "is interactive"),
        ({"user": {"exec": {**PLUGIN, "command": ""}}}, "needs a command in exec of user 'me'"),
        ({"user": {"exec": {**PLUGIN, "args": [1]}}}, "needs strings as args"),
        ({"user": {"exec": {**PLUGIN, "env": ["A=B"]}}}, "needs an env"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(found, values, words):
    error = refused(found, **values)
    assert words in str(error) and error.exit_code == 2


def test_files_that_cannot_be_read_are_named(found, tmp_path):
    cluster = {"server": "https://h", "certificate-authority": "none.crt"}
    error = refused(found, cluster=cluster)
    assert f"{tmp_path}/none.crt cannot be read: No such file" in str(error)
    assert error.exit_code == 66
    error = refused(access, "k8s://", {"KUBECONFIG": str(tmp_path)})
    assert "Is a directory" in str(error) and error.exit_code == 66


@pytest.mark.parametrize("text", ["a: [", "- 1", "a: !!python/object:os.system x", "\0", "'x'"])
def test_a_file_that_is_no_kubeconfig_is_named(found, text):
    error = refused(found, text=text)
    assert "needs a kubeconfig, and" in str(error) and error.exit_code == 2


def test_an_empty_file_has_no_contexts(found):
    assert "has no current-context; it has none" in str(refused(found, text=""))


def test_we_are_inside_with_the_account_of_a_pod_and_no_kubeconfig(tmp_path):
    account, home = tmp_path / "account", {"HOME": str(tmp_path)}
    account.mkdir()
    assert not is_inside(home, str(account))
    (account / "token").write_text("t")
    assert is_inside(home, str(account))
    (tmp_path / "config").write_text("{}")
    assert not is_inside({"KUBECONFIG": str(tmp_path / "config")}, str(account))
