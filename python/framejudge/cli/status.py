"""How a command ends: every exception becomes an exit status and one line on stderr."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from framejudge.errors import (
    ConfigurationError,
    FramejudgeError,
    ImageError,
    InputError,
    JudgeError,
    MissingExtraError,
    ModelError,
    VideoError,
)
from framejudge.schemas import ExitCode

__all__ = ["with_exit_status"]

# Errors that the user can mend, by another argument or another set-up.
_BROKEN_PIPE = 128 + 13  # as a shell reports SIGPIPE
_USERS_OWN = (ConfigurationError, InputError, MissingExtraError, ModelError)
# Something was not scored: no verdict came, or frames can't be read.
_NO_SCORE = (JudgeError, ImageError, VideoError)


def with_exit_status(command: Callable[..., int | None]) -> Callable[..., None]:
    """Wrap a command so that it exits with the number it returns, or by its exception.

    Usage errors are the option parser's; it exits with 2 by itself.
    """

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            status: int = command(*args, **kwargs) or ExitCode.PASS
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            status = ExitCode.INTERRUPTED
        except FramejudgeError as error:
            print(f"Error: {error}", file=sys.stderr)
            status = _status_of(error)
        except (typer.Exit, typer.Abort):
            raise
        except (BrokenPipeError, SystemExit):
            # The reader of our stdout went away, as with `| head`; rich says so by SystemExit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = _BROKEN_PIPE
        except (OSError, UnicodeError) as error:
            print(f"Error: {error}", file=sys.stderr)
            status = ExitCode.USAGE
        except Exception:  # noqa: BLE001 - the last line of defence: an exit status, not a bare 1
            traceback.print_exc()
            print("Error: a bug in framejudge; please report the lines above", file=sys.stderr)
            status = ExitCode.INTERNAL
        raise typer.Exit(int(status))

    return wrapped


def _status_of(error: FramejudgeError) -> ExitCode:
    if isinstance(error, _NO_SCORE):
        return ExitCode.INCOMPLETE
    return ExitCode.USAGE if isinstance(error, _USERS_OWN) else ExitCode.INTERNAL
