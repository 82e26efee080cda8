"""Builds a target of the Dockerfile without an engine: its own instructions, in their order, each stage in a folder."""

import os
import shutil
import venv
from collections.abc import Mapping
from pathlib import Path

from .machine import Machine
from .recipe import REPOSITORY, Instruction, Recipe, Stage, expanded, ignore_rules, pairs, sent_to_builder

# Accounts are made by root for a whole system. What this step does is read from the file, and not done here.
ACCOUNTS = ("groupadd", "useradd")

Images = Mapping[str, Machine]


class Builder:
    """Machines as the Dockerfile makes them; a stage is built once."""

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self._folder = folder
        self._recipe = recipe
        self._built: dict[str, Machine] = {}

    def build(self, name: str) -> Machine:
        """The machine at the end of stage ``name``."""
        if name not in self._built:
            self._built[name] = self._build_stage(self._recipe.stages[name])
        return self._built[name]

    def _build_stage(self, stage: Stage) -> Machine:
        machine = Machine(self._folder / stage.name)
        if stage.base in self._recipe.stages:
            before = self.build(stage.base)
            machine.variables, machine.folder = dict(before.variables), before.folder
            # pip replaces files and never writes into them, so that both stages may share what they have in common.
            shutil.copytree(before.root, machine.root, symlinks=True, copy_function=os.link)
        else:
            assert stage.base.startswith("python:")
            machine.root.mkdir()
            machine.variables = {"PATH": self._path_of_image()}
        for command in stage.commands:
            self._do(machine, command)
        return machine

    def _path_of_image(self) -> str:
        """The PATH of an official Python image: ``python`` and ``pip``, and no package besides."""
        image = self._folder / "image"
        if not image.exists():
            venv.EnvBuilder(symlinks=True, with_pip=True).create(image)
        return f"{image}/bin:/usr/bin:/bin"

    def _do(self, machine: Machine, command: Instruction) -> None:
        match command.kind:
            case "ENV":
                variables = machine.variables
                variables |= {name: expanded(value, variables) for name, value in pairs(command)}
            case "WORKDIR":
                (machine.folder,) = command.value
                machine.path(".").mkdir(parents=True, exist_ok=True)
            case "COPY":
                self._copy(machine, command)
            case "RUN":
                (text,) = command.value
                if not text.startswith(ACCOUNTS):
                    # Compiling what is installed takes as long as installing it, and only makes the first start faster.
                    done = machine.run(["/bin/sh", "-c", text], {**_proxies(), "PIP_NO_COMPILE": "1"})
                    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
            case "CMD" | "ENTRYPOINT" | "EXPOSE" | "HEALTHCHECK" | "LABEL" | "STOPSIGNAL" | "USER":
                pass  # for whoever runs the image
            case other:
                raise AssertionError(f"tests do not know how {other} is built")

    def _copy(self, machine: Machine, command: Instruction) -> None:
        *sources, destination = command.value
        origin = [flag.removeprefix("--from=") for flag in command.flags]
        if origin:
            # Scripts of a virtual environment know where they lie: a link does what a copy to the same path would.
            (stage,), (source,) = origin, sources
            target = self.build(stage).path(source)
            assert target.exists(), f"stage {stage} has no {source}"
            assert source == destination, "tests know how to copy to the same path only"
            machine.path(destination).parent.mkdir(parents=True, exist_ok=True)
            machine.path(destination).symlink_to(target)
            return
        rules = ignore_rules()
        for source in sources:
            original = REPOSITORY / source
            assert original.exists(), f"there is no {source}"
            for file in [original] if original.is_file() else _files(original):
                path = file.relative_to(REPOSITORY)
                if sent_to_builder(rules, path.as_posix()):
                    place = machine.path(destination) / path.relative_to(source if original.is_dir() else path.parent)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, place)


def _files(folder: Path) -> list[Path]:
    """All files, without walking into hidden folders, of which an environment or a history can be large."""
    files = []
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(here, name) for name in names]
    return files


def _proxies() -> dict[str, str]:
    """How this machine reaches a package index; engines pass these variables to a build too."""
    return {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
