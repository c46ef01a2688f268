import re
from pathlib import Path
from typing import Any

import pytest

from cacheroute.kube import crd
from tests.kube.objects import ROOT


def _walk(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, dict):
        return [node, *(found for value in node.values() for found in _walk(value))]
    if isinstance(node, list):
        return [found for value in node for found in _walk(value)]
    return []


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def test_the_checked_in_file_is_fresh() -> None:
    assert (ROOT / "crds/routingplans.yaml").read_text(encoding="utf-8") == crd.text()


def test_the_schema_is_structural() -> None:
    nodes = _walk(_schema())
    for forbidden in ("$ref", "$defs", "anyOf", "const", "title"):
        assert not [node for node in nodes if forbidden in node and isinstance(node[forbidden], str | list)]
    assert not [node for node in nodes if node.get("additionalProperties") is False]


def test_everything_is_bounded_and_explained() -> None:
    fields = [
        (name, field)
        for node in _walk(_schema()["properties"]["spec"])
        if isinstance(node.get("properties"), dict)
        for name, field in node["properties"].items()
    ]
    assert len(fields) > 25
    for name, field in fields:
        assert field.get("description"), name
        bound = {"string": "maxLength", "array": "maxItems", "integer": "maximum"}.get(field["type"])
        assert bound is None or bound in field or "enum" in field, name


def test_every_list_says_how_it_is_merged() -> None:
    lists = [node for node in _walk(_schema()) if node.get("type") == "array"]
    assert lists
    assert all("x-kubernetes-list-type" in node for node in lists)


def test_main_writes_checks_and_complains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "crd.yaml"
    assert crd.main(["--check", str(path)]) == 1
    assert str(path) in capsys.readouterr().err
    assert crd.main([str(path)]) == 0
    assert crd.main(["--check", str(path)]) == 0
    assert [one.name for one in tmp_path.iterdir()] == ["crd.yaml"]


def test_a_default_of_nothing_passes_its_own_rules() -> None:
    """Check that rules ask for each field first: the API server applies them to ``{}`` before nested defaults."""
    empty = [node for node in _walk(_schema()) if node.get("default") == {}]
    rules = [one["rule"] for node in empty for one in node.get("x-kubernetes-validations", ())]
    assert rules
    for rule in rules:
        for name in re.findall(r"(?<!has\()self\.(\w+)", rule):
            assert f"!has(self.{name}) ||" in rule, rule
