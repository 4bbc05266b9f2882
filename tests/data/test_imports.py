import subprocess
import sys
from pathlib import Path

import curriculum_labeling.data

FOLDER = Path(curriculum_labeling.data.__file__).parent


def test_reading_data_needs_no_torch():
    modules = [f"curriculum_labeling.data.{path.stem}" for path in FOLDER.glob("*.py") if path.stem != "__init__"]
    code = f"import sys, {', '.join(modules)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
