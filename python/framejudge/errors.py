"""Every exception framejudge raises on purpose.

```
FramejudgeError
├── InputError (ValueError)              an argument, a text or an array that can't be used
│   └── DataError                        a file, row or field of the input data that can't be used
├── ConfigurationError (ValueError)      an option, environment variable or setup that can't work
│   └── AuditAccessError                 an audit's address or key; it has a reason code
├── MissingExtraError (ImportError)      an optional dependency is not installed
├── ImageError (ValueError)              a picture that can't be decoded or encoded
│   ├── UnsupportedImageError            no picture of a known kind, or a coding that isn't read
│   ├── DamagedImageError                data are missing or contradict each other
│   └── ImageLimitError                  larger than the limits allow, or takes longer
├── VideoError (ValueError)              a video that can't be opened or read
│   ├── DamagedVideoError                data are missing, and that was to be an error
│   └── VideoTimeoutError (TimeoutError) a server that does not answer or falls silent
├── JudgeError (RuntimeError)            a call to a judge that gave no verdict
│   ├── JudgeTransportError (ConnectionError)  no usable answer: connection, status, deadline
│   │   └── JudgeAuthError               the key was refused
│   ├── JudgeReplyError (ValueError)     an answer that is no completed, well-formed verdict
│   └── IncompleteLoopError              rollouts without a score, so that there is no report
├── ScoringError (RuntimeError)          an embedder or scorer returned something unusable
└── ModelError (OSError)                 weights that can't be found, fetched or trusted
    ├── ModelNotFoundError (FileNotFoundError)
    ├── ModelDownloadError (ConnectionError)
    └── ModelIntegrityError              a file's hash is not the pinned one
```
"""

from __future__ import annotations

import functools
from collections.abc import Callable

__all__ = [
    "AuditAccessError",
    "ConfigurationError",
    "DamagedImageError",
    "DamagedVideoError",
    "DataError",
    "FramejudgeError",
    "ImageError",
    "ImageLimitError",
    "IncompleteLoopError",
    "InputError",
    "JudgeAuthError",
    "JudgeError",
    "JudgeReplyError",
    "JudgeTransportError",
    "MissingExtraError",
    "ModelDownloadError",
    "ModelError",
    "ModelIntegrityError",
    "ModelNotFoundError",
    "ScoringError",
    "UnsupportedImageError",
    "VideoError",
    "VideoTimeoutError",
]


class FramejudgeError(Exception):
    """Root of every exception that framejudge raises on purpose."""


class InputError(FramejudgeError, ValueError):
    """An argument, text or array can't be used; the message echoes it and says what is accepted."""


class DataError(InputError):
    """A file, row or field of the input data can't be used; the message names it."""


class ConfigurationError(FramejudgeError, ValueError):
    """An option, environment variable or set-up can't work; the message lists what is accepted."""


class AuditAccessError(ConfigurationError):
    """An audit may not use the address or the key that it was told.

    Attributes:
        reason_code: which rule, for programs.
    """

    def __init__(self, message: str, *, reason_code: str) -> None:
        """Say so, and by which rule."""
        super().__init__(message)
        self.reason_code = reason_code

    def __reduce__(self) -> tuple[Callable[..., AuditAccessError], tuple[str]]:
        """Pickle by the arguments it was made with."""
        return functools.partial(type(self), reason_code=self.reason_code), (str(self),)


class MissingExtraError(FramejudgeError, ImportError):
    """An optional dependency is not installed; the message gives the pip line."""

    def __init__(self, what: str, *, extra: str) -> None:
        """Say that `what` needs the extra named `extra`."""
        super().__init__(f"{what} needs an extra: python3 -m pip install 'framejudge[{extra}]'")
        self.what = what
        self.extra = extra

    def __reduce__(self) -> tuple[Callable[..., MissingExtraError], tuple[()]]:
        """Pickle by the arguments it was made with; errors travel between processes."""
        return functools.partial(type(self), self.what, extra=self.extra), ()


class ImageError(FramejudgeError, ValueError):
    """A picture can't be decoded or encoded; the message says what is wrong and where."""


class UnsupportedImageError(ImageError):
    """The bytes are no picture of a known kind, or use a coding that is not read."""


class DamagedImageError(ImageError):
    """Data of the picture are missing or contradict each other."""


class ImageLimitError(ImageError):
    """The picture is larger, or takes longer, than the limits allow."""


class VideoError(FramejudgeError, ValueError):
    """A video can't be opened or read; the message names it and says what is wrong."""


class DamagedVideoError(VideoError):
    """Data of the video are missing or contradict each other; raised where that was asked for."""


class VideoTimeoutError(VideoError, TimeoutError):
    """A server does not answer, or has been silent for too long."""


class JudgeError(FramejudgeError, RuntimeError):
    """A call to a judge gave no verdict; the message says at which step and what came back."""


class JudgeTransportError(JudgeError, ConnectionError):
    """The judge gave no usable answer: no connection, an HTTP error, or too late.

    Attributes:
        status_code: HTTP's, where the last answer was an error of the server's.
    """

    status_code: int | None = None


class JudgeAuthError(JudgeTransportError):
    """The judge refused the key."""


class JudgeReplyError(JudgeError, ValueError):
    """The judge answered, but not with a completed, well-formed verdict."""


class IncompleteLoopError(JudgeError):
    """Some rollouts have no score, so no report was written.

    Attributes:
        unscored: Reason by rollout, in the order of the rollouts.
        n_scored: How many have a score; their artifacts are kept.
    """

    def __init__(self, message: str, *, unscored: dict[str, str], n_scored: int) -> None:
        """Say so, and of which."""
        super().__init__(message)
        self.unscored = unscored
        self.n_scored = n_scored

    def __reduce__(self) -> tuple[Callable[..., IncompleteLoopError], tuple[str]]:
        """Pickle by the arguments it was made with."""
        make = functools.partial(type(self), unscored=self.unscored, n_scored=self.n_scored)
        return make, (str(self),)


class ScoringError(FramejudgeError, RuntimeError):
    """An embedder or scorer returned something that can't be a score."""


class ModelError(FramejudgeError, OSError):
    """A model's files can't be found, fetched or trusted."""


class ModelNotFoundError(ModelError, FileNotFoundError):
    """No source has the model; the message lists the places that were looked at."""


class ModelDownloadError(ModelError, ConnectionError):
    """A source has the model, but it could not be fetched."""


class ModelIntegrityError(ModelError):
    """A file's SHA-256 is not the pinned one; the message names the file and both hashes."""
