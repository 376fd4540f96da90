"""What a run may have to do in its namespace."""

from pathlib import Path

import pytest
import yaml

from tests.kubernetes.genuine.namespace import RIGHTS
from tfmesos.engines.kubernetes.permissions.rights import forbidden, lacking, needed

PAGE = Path(__file__).parents[4] / "docs" / "kubernetes.rst"


def documented():
    text = PAGE.read_text().partition(".. role begins")[2].partition(".. role ends")[0]
    lines = [line for line in text.splitlines() if line.startswith("    ")]
    return yaml.safe_load("\n".join(lines))["rules"]


def test_the_role_of_the_documentation_is_what_a_run_needs_and_what_the_tests_have():
    rules = [
        (name, verb)
        for rule in documented()
        for name in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert sorted(rules) == sorted(needed(dials=True))
    assert sorted(rules) == sorted((name, verb) for name in RIGHTS for verb in RIGHTS[name])


def test_that_role_suffices():
    assert lacking({"status": {"resourceRules": documented()}}, needed(dials=True)) == []


@pytest.mark.parametrize(
    "rule",
    [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["create"], "apiGroups": [""], "resources": ["pods/*"]},
        {"verbs": ["get", "create"], "apiGroups": [""], "resources": ["*/portforward"]},
    ],
)
def test_a_rule_with_a_star_grants_what_it_stands_for(rule):
    rights = [("pods/portforward", "create")]
    assert lacking({"status": {"resourceRules": [rule]}}, rights) == []


@pytest.mark.parametrize(
    "rule",
    [
        {"verbs": ["create"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
        {"verbs": ["create"], "apiGroups": ["apps"], "resources": ["pods"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": "create", "apiGroups": [""], "resources": ["pods"]},
        "create pods",
    ],
)
def test_a_rule_about_something_else_grants_nothing(rule):
    assert lacking({"status": {"resourceRules": [rule]}}, [("pods", "create")])


def test_who_has_no_right_at_all_is_told_so_in_short():
    text = str(forbidden(needed(dials=True), "team"))
    assert text.startswith("no rights in namespace team") and len(text) < 150
