"""The images and the composition really run: each command is the files' own, from `python -m venv` to health checks."""

import json
import shutil
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import Request

from ellzero.certificates import Discrete, radius
from ellzero.tables import Table

from .builder import Images
from .composition import composition
from .machine import Machine, wait_until_well
from .recipe import Recipe

QUESTION = "/v1/radius?k=255&alpha=0.2&d=784&p=0.99"
EXPECTED = radius(Discrete(255, "0.2"), "0.99", d=784)


def test_the_serve_image_answers_and_is_well(images: Images, recipe: Recipe) -> None:
    machine = images["serve"]
    with serving(machine, recipe, {}) as address:
        assert ask(address + QUESTION)["radius"] == EXPECTED
        assert b"<html" in urllib.request.urlopen(address).read()


def test_the_health_check_of_the_serve_image_fails_where_nothing_answers(images: Images, recipe: Recipe) -> None:
    checked = images["serve"].run(recipe.healthcheck("serve"), {"ELLZERO_SERVE_PORT": str(free_port())})
    assert checked.returncode != 0


def test_the_composition_computes_a_table_on_its_cluster_and_serves_it(images: Images, recipe: Recipe) -> None:
    """One after the other, as depends_on says: head, worker, table, service."""
    chosen = {
        # Ray takes "localhost" for a mistake, and puts an address in its place that other machines reach.
        "ELLZERO_RAY_HEAD": "LOCALHOST",
        "ELLZERO_RAY_PORT": str(free_port()),
        "ELLZERO_RAY_CLIENT_PORT": str(free_port()),
        "ELLZERO_K": "255",
        "ELLZERO_ALPHA": "0.1:0.3:0.1",
        "ELLZERO_D": "784",
    }
    services = composition(chosen)["services"]
    image = images["worker"]
    with ExitStack() as stack:
        for name in ("head", "worker"):
            service = services[name]
            machine, variables = container(image, name, service)
            command = [*recipe.words("worker", "ENTRYPOINT"), *service["command"]]
            # Ray on loopback only: this is the variable that makes a head choose 127.0.0.1.
            only_here = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"} if name == "head" else {}
            process = stack.enter_context(machine.running(command, variables | only_here))
            check = service["healthcheck"]["test"][1:] if "healthcheck" in service else recipe.healthcheck("worker")
            wait_until_well(machine, check, process, variables)
        machine, variables = container(image, "table", services["table"])
        try:
            done = machine.run([*services["table"]["entrypoint"], *services["table"]["command"]], variables)
        finally:
            machine.end()
        assert done.returncode == 0, done.stdout + done.stderr
        assert "executor ray" in done.stderr
    extents = Table.open(str(machine.path("/tables/thresholds"))).extents()
    assert len(extents) == 3

    service = services["serve"]
    machine, variables = container(images["serve"], "service", service)
    with serving(machine, recipe, variables) as address:
        answer = ask(address + QUESTION)
        assert (answer["radius"], answer["source"]) == (EXPECTED, "table")
        assert ask(address + "/v1/radius?k=255&alpha=0.5&d=784&p=0.99")["source"] == "computed"


def test_the_predict_image_votes_with_the_model_that_ships_and_with_those_of_a_folder(
    images: Images, recipe: Recipe
) -> None:
    """The composition mounts a folder of models and a volume for jobs; without one there is the model that ships."""
    image = images["predict"]
    (image.root / "jobs").mkdir()
    with serving(image, recipe, {}) as address:
        (model,) = ask(address + "/v1/models")["models"]
        assert model["name"] == "demo-digits"
        (example, *_) = ask(address + "/v1/examples?model=demo-digits")["examples"]
        request = {"model": "demo-digits", "x": example["x"], "n": 2000, "seed": 1, "wait": 20}
        shipped = ask(address + "/v1/certify", request)
        assert shipped["results"][0]["prediction"] == example["label"]

    service = composition()["services"]["votes"]
    machine, variables = container(image, "votes", service)
    (weights,) = image.root.glob("opt/ellzero/lib/*/site-packages/ellzero/smoothing/models/demo/*.safetensors")
    shutil.copyfile(weights, machine.path("/models/mine.safetensors"))
    with serving(machine, recipe, variables) as address:
        same = ask(address + "/v1/certify", request | {"model": "mine"})
        assert same["results"] == shipped["results"]
        job = ask(address + "/v1/certify", request | {"model": "mine", "n": 10_000_000, "stopping": "never", "wait": 0})
    assert json.loads(machine.path(f"/jobs/{job['id']}.json").read_bytes())["state"] == "lost"


def container(image: Machine, name: str, service: dict[str, Any]) -> tuple[Machine, dict[str, str]]:
    """A new machine from ``image``, with the service's volumes and environment."""
    root = image.root.parent / f"c-{name}"
    volumes = image.root.parent / "volumes"
    for folder in (root / "opt", root / "tmp", volumes):
        folder.mkdir(parents=True, exist_ok=True)
    (root / "opt" / "ellzero").symlink_to(image.path("/opt/ellzero"))
    for volume in service["volumes"]:
        source, mounted, *_ = volume.split(":")
        place = volumes / Path(source).name  # a folder of the host is one among them
        place.mkdir(exist_ok=True)
        (root / mounted.lstrip("/")).symlink_to(place)
    # /tmp/ray is Ray's default for what it shares with other processes of a machine; all here share one /tmp.
    return replace(image, root=root), {**service["environment"], "RAY_TMPDIR": f"{root}/tmp"}


@contextmanager
def serving(machine: Machine, recipe: Recipe, variables: dict[str, str]) -> Iterator[str]:
    """The address of the serve image's command while it runs, once its own health check succeeds. On loopback only."""
    port = free_port()
    variables |= {"ELLZERO_SERVE_HOST": "127.0.0.1", "ELLZERO_SERVE_PORT": str(port)}
    with machine.running(recipe.words("serve", "CMD"), variables) as process:
        wait_until_well(machine, recipe.healthcheck("serve"), process, variables)
        yield f"http://127.0.0.1:{port}"
    assert process.returncode == 0, machine.log.read_text()  # SIGTERM is an orderly end


def ask(address: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    sent = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(Request(address, sent, {"content-type": "application/json"})) as answer:
        reply: dict[str, Any] = json.load(answer)
    return reply


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        return int(opened.getsockname()[1])
