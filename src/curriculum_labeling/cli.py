"""The command `curriculum`: runs what it is asked for, and says in one sentence what went wrong.

Nothing beyond the core is imported until it is needed, so that a missing package can be named.
"""

from __future__ import annotations

import sys

USAGE, INTERRUPTED = 2, 130


def main(arguments: list[str] | None = None) -> int:
    """Run a command; bad input is one sentence and exit code 2."""
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
    if isinstance(error, OSError) and error.strerror:
        where = f" {error.filename}" if error.filename else ""
        return f"Cannot read or write{where}: {error.strerror}; what was done so far is kept."
    return str(error) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
