"""What the files for containers promise to whoever reads, builds or publishes them."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from .builder import ACCOUNTS
from .composition import COMPOSE, composition, variables_offered
from .conftest import TARGETS
from .recipe import DOCKERFILE, REPOSITORY, Recipe, ignore_rules, pairs, sent_to_builder

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
HATCH = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
TOOLS = Path(sys.executable).parent


def test_hadolint_finds_nothing_wrong() -> None:
    output = subprocess.run(
        [str(TOOLS / "hadolint"), "--format", "json", str(DOCKERFILE)], capture_output=True, text=True
    )
    assert json.loads(output.stdout) == []


def test_the_composition_follows_the_compose_specification() -> None:
    command = [str(TOOLS / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("target", TARGETS)
def test_a_container_is_not_root_stops_on_sigterm_and_starts_without_a_shell(recipe: Recipe, target: str) -> None:
    user, stop = recipe.last(target, "USER"), recipe.last(target, "STOPSIGNAL")
    assert user is not None
    assert stop is not None
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user.value[0])  # numbers: a cluster can tell that it is not root
    assert stop.value == ("SIGTERM",)
    assert recipe.words(target, "ENTRYPOINT") + recipe.words(target, "CMD")
    assert recipe.healthcheck(target)[0] == "python"
    assert recipe.last(target, "EXPOSE")


def test_the_account_that_containers_run_as_owns_the_folders_of_volumes(recipe: Recipe) -> None:
    """A new named volume takes the owner of the folder it is mounted on, so that this decides who can write it."""
    user = recipe.last("worker", "USER")
    assert user is not None
    uid, _, gid = user.value[0].partition(":")
    (accounts,) = [run.value[0] for run in recipe.stages["runtime"].all("RUN") if run.value[0].startswith(ACCOUNTS)]
    assert f"groupadd --gid {gid} " in accounts
    assert f"useradd --uid {uid} --gid {gid} " in accounts
    assert re.search(rf"install --directory --owner={uid} --group={gid} /tables /jobs$", accounts)
    mounted = {
        tuple(volume.split(":")) for service in composition()["services"].values() for volume in service["volumes"]
    }
    assert mounted == {
        ("tables", "/tables"), ("tables", "/tables", "ro"), ("jobs", "/jobs"), ("../models", "/models", "ro")
    }  # fmt: skip
    assert set(composition()["volumes"]) == {"tables", "jobs"}


def test_every_install_from_an_index_is_constrained(recipe: Recipe) -> None:
    runs = [run.value[0] for stage in recipe.stages.values() for run in stage.all("RUN")]
    installs = [run for run in runs if "pip install" in run]
    assert installs
    assert all("--constraint constraints.txt" in run or "--no-index" in run for run in installs)


def test_the_python_of_the_images_is_one_that_ellzero_supports(recipe: Recipe) -> None:
    assert SpecifierSet(PROJECT["requires-python"]).contains(recipe.arguments["PYTHON_VERSION"])


def test_labels_say_what_the_project_says(recipe: Recipe) -> None:
    labels = recipe.last("serve", "LABEL")
    assert labels is not None
    assert {name.rpartition(".")[2]: value for name, value in pairs(labels)} == {
        "title": PROJECT["name"],
        "description": PROJECT["description"],
        "licenses": PROJECT["license"],
    }


def test_only_what_the_wheel_is_made_of_reaches_the_builder() -> None:
    rules = ignore_rules()
    roots = [path.partition("/")[0] for path in HATCH["only-include"]]
    for path in ("pyproject.toml", "constraints.txt", *(f"{root}/ellzero/x.py" for root in roots)):
        assert sent_to_builder(rules, path), path
    for path in (".git/config", ".env", ".venv/bin/python", "docs/usage.md", "tests/README.md", "serve/__pycache__/x"):
        assert not sent_to_builder(rules, path), path


def test_images_come_from_no_other_place_than_the_engine_is_set_to(recipe: Recipe) -> None:
    bases = {stage.base for stage in recipe.stages.values()} - set(recipe.stages)
    assert bases == {f"python:{recipe.arguments['PYTHON_VERSION']}-slim"}
    assert all("/" not in service["image"] for service in composition()["services"].values())


def test_services_are_built_from_targets_that_there_are(recipe: Recipe) -> None:
    for name, service in composition()["services"].items():
        build = service["build"]
        assert build["target"] == {"serve": "serve", "votes": "predict"}.get(name, "worker")
        assert build["target"] in recipe.stages
        context = (COMPOSE.parent / build["context"]).resolve()
        assert (context, context / build["dockerfile"]) == (REPOSITORY, DOCKERFILE)


def test_the_page_is_published_on_loopback_and_nothing_else_at_all(recipe: Recipe) -> None:
    services = composition({"ELLZERO_PORT": "8123", "ELLZERO_VOTES_PORT": "8124"})["services"]
    for name, port in (("serve", 8123), ("votes", 8124)):
        service = services.pop(name)
        exposed = recipe.last(service["build"]["target"], "EXPOSE")
        assert exposed is not None
        assert service["ports"] == [f"127.0.0.1:{port}:{exposed.value[0]}"]
    assert not any("ports" in service for service in services.values())


def test_each_service_waits_for_what_it_needs() -> None:
    services = composition()["services"]
    needs = {
        name: {other: how["condition"] for other, how in service.get("depends_on", {}).items()}
        for name, service in services.items()
    }
    assert needs == {
        "head": {},
        "worker": {"head": "service_healthy"},
        "table": {"head": "service_healthy", "worker": "service_healthy"},
        "serve": {"table": "service_completed_successfully"},
        "votes": {},
    }
    assert {name for name, service in services.items() if "profiles" in service} == {"votes"}


def test_ray_runs_without_tokens_and_statistics_and_with_shared_memory() -> None:
    services = composition()["services"]
    for name in ("head", "worker", "table"):
        assert services[name]["environment"] == {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
        assert services[name]["shm_size"]


def test_every_variable_of_the_composition_is_explained() -> None:
    readme = (COMPOSE.parent / "README.md").read_text()
    for name, default in variables_offered().items():
        assert f"| `{name}` | `{default}` |" in readme
