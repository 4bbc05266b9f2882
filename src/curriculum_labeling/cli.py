"""The command `curriculum`: runs what it is asked for, and says in one sentence what went wrong.

Nothing beyond the core is imported until it is needed, so that a missing package can be named.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper

USAGE, INTERRUPTED = 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Run a command; bad input is one sentence and exit code 2."""
    if isinstance(sys.stdout, TextIOWrapper):  # a file may have a name that no terminal can show
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from curriculum_labeling.arguments import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except ModuleNotFoundError as error:
        package = (error.name or str(error)).partition(".")[0]
        return _refuse(f'This command needs {package}: pip install "curriculum-labeling[vision]".')
    except (ValueError, FloatingPointError, OSError) as error:
        return _refuse(_sentence(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def _refuse(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return USAGE


def _sentence(error: Exception) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename}" if error.filename else ""
        text = f"Cannot read or write{where}: {error.strerror}; what was done so far is kept."
    # Names of files may hold anything, also what would steer a terminal.
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


if __name__ == "__main__":
    sys.exit(main())
