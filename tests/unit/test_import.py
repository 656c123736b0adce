"""Importing framejudge is cheap, and its public names are exactly those it lists."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

import framejudge

PUBLIC_MODULES = [
    "framejudge",
    "framejudge.cosine",
    "framejudge.data",
    "framejudge.embedders",
    "framejudge.encoder",
    "framejudge.errors",
    "framejudge.frames",
    "framejudge.metrics",
    "framejudge.report",
    "framejudge.schemas",
    "framejudge.scorers",
]


def test_import_loads_numpy_and_the_extension_and_nothing_else():
    code = """
import sys, numpy
before = set(sys.modules)
import framejudge
import json
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    ours = {name for name in loaded if name.split(".")[0] == "framejudge"}
    assert ours == {"framejudge", "framejudge._core"}
    third_party = {
        name
        for name in loaded - ours
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("__")
    }
    assert third_party == set()


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_all_is_sorted_and_every_name_in_it_exists(name):
    module = importlib.import_module(name)
    assert list(module.__all__) == sorted(module.__all__, key=lambda n: (not n.isupper(), n))
    for public in module.__all__:
        assert getattr(module, public) is not None


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_module_can_be_star_imported(name):
    space: dict[str, object] = {}
    exec(f"from {name} import *", space)  # the statement itself is under test
    assert set(importlib.import_module(name).__all__) <= set(space)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'framejudge' has no attribute 'simlarity'"):
        framejudge.simlarity  # noqa: B018 - the access is under test


def test_dir_lists_the_public_names():
    assert dir(framejudge) == sorted(framejudge.__all__)


def test_the_metrics_have_the_public_paths_that_users_import():
    from framejudge.data import Batch, Dataset, IterationLevel, Retriever, SessionMetadata
    from framejudge.data import StreamedBatch as Streamed
    from framejudge.embedders import SentenceTransformerEmbedder
    from framejudge.metrics import (
        VisionHallucinationInteraction,
        VisionHallucinationMetric,
        VisionSimilarityInteraction,
        VisionSimilarityMetric,
    )
    from framejudge.scorers import CosineSimilarity, SimilarityScorer

    names = [
        Batch, Dataset, IterationLevel, Retriever, SessionMetadata, Streamed,
        SentenceTransformerEmbedder, VisionHallucinationInteraction, VisionHallucinationMetric,
        VisionSimilarityInteraction, VisionSimilarityMetric, CosineSimilarity, SimilarityScorer,
    ]  # fmt: skip
    assert all(isinstance(name, type) for name in names)


def test_every_module_can_be_imported_on_its_own():
    for module in pkgutil.walk_packages(framejudge.__path__, "framejudge."):
        importlib.import_module(module.name)
