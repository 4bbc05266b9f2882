"""Imports point one way, and the core stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import curriculum_labeling

PACKAGE = Path(curriculum_labeling.__file__).parent
CORE = {"labels": set(), "order": {"labels"}, "pacing": {"labels", "order"}, "curriculum": {"labels", "pacing"}}
# What each part may import of the package; a part not named here may import only itself.
ALLOWED = {
    "estimators": {"labels", "pacing", "curriculum"},
    "classifier": {"labels", "pacing", "curriculum", "estimators"},
    "data": {"labels"},
    "report": {"labels", "data", "runs"},
    "vision": {"labels", "pacing", "order", "curriculum", "data"},
    "runs": {"labels", "pacing", "curriculum", "data", "estimators", "vision", "__init__"},
    "screen": {"data", "report", "runs"},
    "commands": {"data", "report", "runs", "screen", "vision"},
    "cli": {"arguments"},
    "arguments": {"commands", "demo", "experiments", "reproduce", "runs", "__init__"},
    "experiments": {"labels", "pacing", "curriculum", "estimators", "classifier", "data", "vision", "runs"},
    "demo": {"commands", "data", "runs"},
    "reproduce": {"data", "experiments", "runs", "screen", "vision"},
    "__init__": {"classifier", "curriculum", "labels", "pacing"},
    **CORE,
}


def imported(file):
    """Full names of the modules a file imports anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            yield node.module
            if node.module == "curriculum_labeling":
                yield from (f"curriculum_labeling.{alias.name}" for alias in node.names)


def part_of(file):
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_imports_point_one_way(file):
    part = part_of(file)
    used = {name.split(".")[1] for name in imported(file) if name.startswith("curriculum_labeling.")}
    assert used <= ALLOWED.get(part, set()) | {part}


@pytest.mark.parametrize("name", CORE)
def test_the_core_imports_numpy_and_nothing_heavier(name):
    outside = {module.split(".")[0] for module in imported(PACKAGE / f"{name}.py")} - {"curriculum_labeling"}
    assert outside - set(sys.stdlib_module_names) <= {"numpy"}


def test_importing_the_package_does_not_import_torch():
    code = "import curriculum_labeling, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_process_that_decodes_images_loads_neither_scikit_learn_nor_torch():
    code = "import curriculum_labeling.data.chunks, sys; sys.exit(bool({'sklearn', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_classifier_is_there_when_it_is_asked_for():
    assert "CurriculumLabelingClassifier" in dir(curriculum_labeling)
    assert curriculum_labeling.CurriculumLabelingClassifier.__name__ == "CurriculumLabelingClassifier"
    with pytest.raises(AttributeError, match="has no attribute 'Classifier'"):
        _ = curriculum_labeling.Classifier
