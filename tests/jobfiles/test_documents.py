"""Several documents in one file, and templates that are no documents yet."""

from __future__ import annotations

import pytest
import yaml

from tests.jobfiles.tfjob.test_document import new, typed
from tests.sentences import names
from tfmesos.inputs.job_file import JobFile
from tfmesos.jobfiles.reading import read
from tfmesos.jobfiles.translation import JobFileError

SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "board"}}
TFJOB = new(Worker=typed())


def test_the_one_tfjob_of_several_documents_is_taken_and_the_others_are_named(tmp_path):
    path = tmp_path / "all.yaml"
    path.write_text("---\n" + yaml.safe_dump_all([SERVICE, TFJOB, None, {"kind": "Secret"}]))
    file = JobFile(str(path))
    assert file.document["name"] == "dist-mnist"
    service, secret = file.remarks
    assert names(service, f"{path}: Service board is left out", "TFJob")
    assert names(secret, f"{path}: Secret is left out", "TFJob")


@pytest.mark.parametrize("documents", [[TFJOB, SERVICE, TFJOB], [SERVICE, SERVICE]])
def test_of_several_the_second_is_refused_by_its_line(documents):
    with pytest.raises(JobFileError, match=r"^all.yaml:\d+: .* one document, .* TFJob"):
        read(yaml.safe_dump_all(documents).encode(), "all.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "kind: TFJob\nspec:\n  replicas: {{ .Values.workers }}\n",
        "kind: TFJob\nmetadata:\n  name: {{ $name }}\n",
        "{{- if .Values.on }}\nkind: TFJob\n{{- end }}\n",
        'kind: TFJob\nspec: {image: "{{ .Values.image }}"}\n',
        'kind: TFJob\nmetadata:\n  labels:\n    {{- include "labels" . | nindent 4 }}\n',
    ],
)
def test_a_helm_template_is_called_so(text):
    with pytest.raises(JobFileError, match="Helm template: render"):
        read(text.encode(), "job.yaml")


def test_braces_in_a_command_make_no_helm_template():
    text = "cmd: docker inspect -f '{{ .State }}' x\njobs: {worker: {}}\n"
    assert read(text.encode(), "job.yaml").value["cmd"].endswith(" x")
