"""Known vulnerabilities among the pinned packages, as pip-audit finds them; `make audit` runs this.

Arguments: the command pip-audit and the file of pins. By itself pip-audit exits with 0 and "no known
vulnerabilities" where a package index has no word about any package, so what was really checked is counted here.
"""

import json
import subprocess
import sys
from dataclasses import dataclass

SERVICES = ("pypi", "osv")


@dataclass(frozen=True)
class Found:
    """What one service knows: how many packages it has checked, of how many, and each vulnerability in words."""

    checked: int = 0
    packages: int = 0
    vulnerabilities: tuple[str, ...] = ()


def ask(command, pins, service):
    """What a service knows about the pins; nothing, where it cannot be reached."""
    options = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--timeout", "15", "--format", "json"]
    asked = [command, "--requirement", pins, "--vulnerability-service", service, *options]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        print(f"{service}: {(done.stderr.strip().splitlines() or ['no answer'])[-1][:200]}", file=sys.stderr)
        return Found()
    checked = [one for one in packages if "skip_reason" not in one]
    harms = [
        f"{one['name']} {one['version']}: {harm['id']}, fixed in {' or '.join(harm['fix_versions']) or 'no version'}"
        for one in checked
        for harm in one["vulns"]
    ]
    return Found(len(checked), len(packages), tuple(harms))


def main(command, pins):
    """Say what is known; 1 where that is a vulnerability, else 0."""
    found = max((ask(command, pins, service) for service in SERVICES), key=lambda one: one.checked)
    if not found.checked:
        print("No vulnerability data can be reached from here, so nothing was checked.")
        return 0
    print(*found.vulnerabilities, sep="\n", end="\n" * bool(found.vulnerabilities))
    unchecked = found.packages - found.checked
    rest = f"; nothing is known of the other {unchecked}" if unchecked else ""
    print(f"{found.checked} packages checked, {len(found.vulnerabilities)} known vulnerabilities{rest}.")
    return int(bool(found.vulnerabilities))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
