"""docker/Dockerfile as BuildKit's own parser reads it, and .dockerignore."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import dockerfile  # type: ignore[import-not-found]

REPOSITORY = Path(__file__).parents[2]
DOCKERFILE = REPOSITORY / "docker" / "Dockerfile"


@dataclass(frozen=True)
class Instruction:
    """An instruction: its keyword, its words, its --flags, whether it is in exec form, and its text."""

    kind: str
    value: tuple[str, ...]
    flags: tuple[str, ...]
    exec_form: bool
    original: str


@dataclass(frozen=True)
class Stage:
    """A stage: the image or stage that it begins with, and its instructions in order."""

    name: str
    base: str
    commands: tuple[Instruction, ...]

    def all(self, kind: str) -> list[Instruction]:
        return [command for command in self.commands if command.kind == kind]


class Recipe:
    """The stages of the Dockerfile by name."""

    def __init__(self, path: Path = DOCKERFILE) -> None:
        self.stages: dict[str, Stage] = {}
        self.arguments: dict[str, str] = {}
        collected: list[Instruction] = []
        for parsed in dockerfile.parse_file(str(path)):
            command = Instruction(parsed.cmd.upper(), parsed.value, parsed.flags, parsed.json, parsed.original)
            if command.kind == "FROM":
                base, _, name = command.value
                collected = []
                self.stages[name] = Stage(name, expanded(base, self.arguments), ())
            elif not self.stages:
                key, _, value = command.value[0].partition("=")
                self.arguments[key] = value
            else:
                collected.append(command)
                self.stages[name] = Stage(name, self.stages[name].base, tuple(collected))

    def line(self, target: str) -> list[Stage]:
        """The stages from the one that begins with an image of others to ``target``."""
        stage = self.stages[target]
        return [*(self.line(stage.base) if stage.base in self.stages else []), stage]

    def last(self, target: str, kind: str) -> Instruction | None:
        """The instruction that is in force in ``target``, if there is any of its kind."""
        return next((command for stage in reversed(self.line(target)) for command in reversed(stage.all(kind))), None)

    def words(self, target: str, kind: str) -> list[str]:
        """ENTRYPOINT or CMD of ``target``, which must be in exec form; empty if there is none."""
        command = self.last(target, kind)
        if command is None:
            return []
        assert command.exec_form, f"{command.original} is not in exec form"
        return list(command.value)

    def healthcheck(self, target: str) -> list[str]:
        """The command that says whether a container of ``target`` is well."""
        command = self.last(target, "HEALTHCHECK")
        assert command is not None
        kind, text = re.sub(r"^HEALTHCHECK|--\S+|\\\n", " ", command.original, flags=re.IGNORECASE).split(maxsplit=1)
        assert kind == "CMD"
        return [str(word) for word in json.loads(text)]


def pairs(command: Instruction) -> Iterator[tuple[str, str]]:
    """The names and values of an ENV or LABEL."""
    values = [value.strip('"') for value in command.value if value != "="]
    return zip(values[::2], values[1::2], strict=True)


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with $NAME and ${NAME} replaced; an unknown name is an error."""
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: variables[found[1] or found[2]], text)


def sent_to_builder(rules: Sequence[str], path: str) -> bool:
    """Whether .dockerignore sends ``path``, from the repository's root, to the builder: the last fitting rule says."""
    allowed = True
    for rule in rules:
        pattern = rule.removeprefix("!")
        steps = path.split("/")
        prefixes = ["/".join(steps[:end]) for end in range(1, len(steps) + 1)]
        if pattern.startswith("**/"):
            fits = any(fnmatch(step, pattern[3:]) for step in steps)
        else:
            fits = any(fnmatch(prefix, pattern) and pattern.count("/") == prefix.count("/") for prefix in prefixes)
        allowed = rule.startswith("!") if fits else allowed
    return allowed


def ignore_rules() -> list[str]:
    lines = (REPOSITORY / ".dockerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]
