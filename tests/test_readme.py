"""Every Python snippet of the README and the guides runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/classifier.md", "docs/images.md"]
SNIPPETS = [
    pytest.param(code, id=f"{page}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL), start=1)
]


@pytest.mark.parametrize("code", SNIPPETS)
def test_snippets_run(code, tmp_path):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip(), "a snippet should show something"


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_ci_runs_what_a_contributor_runs():
    assert "make check" in (ROOT / ".ci" / "run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^check: lint types\n\t\$\(MAKE\) test$", makefile, re.MULTILINE)


def test_the_tree_in_the_readme_names_every_module():
    tree = (ROOT / "README.md").read_text()
    package = ROOT / "src" / "curriculum_labeling"
    for part in [p for p in package.iterdir() if p.name not in ("__init__.py", "__pycache__", "py.typed")]:
        name = part.name + ("/" if part.is_dir() else "")
        assert f"  {name} " in tree, f"{name} is missing from the tree in the README"
