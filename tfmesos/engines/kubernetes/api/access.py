"""The address of the API server and our credentials for it. No repr contains a secret."""

from __future__ import annotations

from collections.abc import Mapping

from ....config.secret import Secret
from ....http.proxy import Proxy
from ....record import NOTHING, Record


class Plugin(Record):
    """A program that gives credentials, as ``exec`` of a kubeconfig user names it."""

    command: str
    args: Secret  # JSON of a list: some hold passwords
    variables: Mapping[str, Secret]
    version: str  # of client.authentication.k8s.io
    hint: str = ""  # how to install it
    wants_cluster: bool = False  # does it receive the cluster that it is for?


class Login(Record):
    """The credentials of the user, of one or several kinds; none means anonymous."""

    token: Secret | None = None
    token_file: str = ""
    username: str = ""
    password: Secret | None = None
    certificate: Secret | None = None  # PEM; some hold the key, too
    key: Secret | None = None  # PEM
    plugin: Plugin | None = None
    acts_as: str = ""  # the user that we act as (impersonation)
    acts_in: tuple[str, ...] = ()  # and the groups of that user


class Route(Record):
    """*words* says how a proxy that is set somewhere is used; empty if none is set."""

    proxy: Proxy | None = None
    words: str = ""


DIRECT = Route()


class Access(Record):
    server: str  # https://HOST:PORT, possibly with a path
    namespace: str
    context: str = ""  # its name in the kubeconfig; none inside a cluster
    authority: str = ""  # PEM; the certificates of this machine count if there is none
    is_verified: bool = True  # False: insecure-skip-tls-verify
    route: Route = DIRECT  # the proxy on the way to it
    server_name: str = ""  # for which its certificate is made, if not for its host
    login: Login = Login()
    cluster: Mapping[str, object] = NOTHING  # what a plugin receives, if it asks for it
