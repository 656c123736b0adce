"""Options: ranges are checked, misspelt keywords never vanish, a retriever gets its own."""

from __future__ import annotations

import math

import pytest

from framejudge import score
from framejudge.data import Retriever
from framejudge.errors import ConfigurationError
from framejudge.metrics import VisionHallucination, VisionSimilarity

BOTH = pytest.mark.parametrize("metric", [VisionSimilarity, VisionHallucination])


class Plain(Retriever):
    def load_dataset(self):
        return []


class Named(Retriever):
    def __init__(self, *, folder="here"):
        super().__init__()
        self.folder = folder

    def load_dataset(self):
        return []


class Greedy(Retriever):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def load_dataset(self):
        return []


class Reader(Retriever):
    def load_dataset(self):
        assert self.kwargs["folder"] == "there"
        return []


class Ones:
    def calculate(self, assistant, ground_truth):
        return 1.0


@BOTH
@pytest.mark.parametrize("value", [75, -0.1, 1.0001, math.nan, math.inf, "0.75", None, True])
def test_a_threshold_outside_0_to_1_is_an_error_that_echoes_it(metric, value):
    with pytest.raises(
        ConfigurationError, match=r"threshold is .*; accepted: a number in \[0, 1\]"
    ):
        metric(Plain, threshold=value)


@pytest.mark.parametrize(
    "option", [{"max_hallucination_rate": 2}, {"confidence": 0}, {"confidence": 1}]
)
def test_other_shares_are_checked_too(option):
    with pytest.raises(ConfigurationError, match=next(iter(option))):
        score(Plain, scorer=Ones(), **option)


@BOTH
@pytest.mark.parametrize("retriever", [Plain, Named, Greedy, Reader])
@pytest.mark.parametrize(
    ("keyword", "meant"),
    [
        ("treshold", "threshold"),
        ("Threshold", "threshold"),
        ("scoer", "scorer"),
        ("verbos", "verbose"),
    ],
)
def test_a_misspelt_option_is_an_error_whatever_the_retriever_takes(
    metric, retriever, keyword, meant
):
    with pytest.raises(ConfigurationError, match=f"{keyword!r}: did you mean {meant!r}"):
        metric(retriever, **{keyword: 0.9})


@BOTH
def test_further_keywords_go_to_a_retriever_that_names_them(metric):
    assert metric(Named, scorer=Ones(), folder="there").retriever.folder == "there"
    assert metric(Greedy, scorer=Ones(), bucket="b").retriever.kwargs == {"bucket": "b"}
    assert metric(Reader, scorer=Ones(), folder="there").retriever.kwargs == {"folder": "there"}


@BOTH
@pytest.mark.parametrize("retriever", [Plain, Named])
def test_a_keyword_that_nobody_would_read_is_an_error(metric, retriever):
    with pytest.raises(ConfigurationError, match="unexpected keyword 'statistical_mode'"):
        metric(retriever, statistical_mode="bayesian")


def test_data_that_is_no_class_takes_no_further_keywords(tmp_path):
    with pytest.raises(ConfigurationError, match="only a Retriever class takes further keywords"):
        score(tmp_path / "data.jsonl", folder="there")


def test_a_retriever_instance_is_accepted():
    assert VisionSimilarity.run(Named(folder="x"), scorer=Ones()) == []


class Property(Retriever):
    @property
    def folder(self):
        return self.kwargs.get("folder")

    def load_dataset(self):
        return []


@pytest.mark.parametrize("keyword", ["path", "date", "folder"])
def test_a_retrievers_own_names_are_not_taken_for_misspelt_ones(keyword):
    assert score(Property, scorer=Ones(), **{keyword: "x"}).frames == []
    assert VisionSimilarity(Greedy, scorer=Ones(), **{keyword: "x"}).retriever.kwargs


def test_an_option_of_score_is_no_option_of_a_metric():
    with pytest.raises(ConfigurationError, match="'max_hallucination_rate' is no option here"):
        VisionSimilarity(Greedy, max_hallucination_rate=0.5)
