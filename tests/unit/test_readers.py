"""Files in: every format keeps everything, and a bad row is named and costs only itself."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framejudge import score
from framejudge.errors import DataError, InputError
from framejudge.report import write_run

ROW = {
    "session_id": "cam-1",
    "assistant_id": "vlm-a",
    "qa_id": "f1",
    "assistant": "a man fell",
    "ground_truth_assistant": "a man fell",
}


class Same:
    """Scores 1.0 for equal texts, else 0.0."""

    def calculate(self, assistant, ground_truth):
        return float(assistant == ground_truth)


def write(path: Path, rows: list[dict]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        pd.DataFrame(rows).to_csv(path, index=False)
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        session = {key: rows[0][key] for key in ("session_id", "assistant_id")}
        frames = [{k: v for k, v in row.items() if k not in session} for row in rows]
        path.write_text(json.dumps([{**session, "context": "door", "conversation": frames}]))
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".json"])
def test_each_format_gives_the_same_frames_and_keeps_unknown_fields(tmp_path, suffix):
    rows = [
        {**ROW, "weight": 2.0, "weather": "rain"},
        {**ROW, "qa_id": "f2", "assistant": "nobody", "weight": 1.0, "weather": "sun"},
    ]
    run = score(write(tmp_path / f"data{suffix}", rows), scorer=Same())
    assert [(f.qa_id, f.similarity_score, f.is_hallucination) for f in run.frames] == [
        ("f1", 1.0, False),
        ("f2", 0.0, True),
    ]
    assert [f.metadata for f in run.frames] == [{"weather": "rain"}, {"weather": "sun"}]
    assert run.similarity[0].weighted_mean_similarity == 0.6667


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_dataframe_is_scored_row_by_row(library):
    frame = library(
        {
            "session_id": ["c", "c", "c"],
            "assistant_id": ["v", "v", "v"],
            "qa_id": [1, 2, 3],
            "assistant": ["x", None, "z"],
            "ground_truth_assistant": ["x", "y", "y"],
            "temperature": [1.5, None, 3.0],
        }
    )
    run = score(frame, scorer=Same())
    assert [f.qa_id for f in run.frames] == ["1", "2", "3"]
    assert [f.status.value for f in run.frames] == ["scored", "unscored", "scored"]
    assert [f.metadata["temperature"] for f in run.frames] == [1.5, None, 3.0]


def test_bad_jsonl_rows_are_named_and_the_others_still_count(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(ROW).encode() + b"\n"
        b"{not json}\n"
        b"\n"
        b"[1, 2]\n"
        b'{"session_id": "cam-1", "assistant_id": "vlm-a", "qa_id": "f5", '
        b'"assistant": 7, "ground_truth_assistant": "x"}\n'
        b'{"assistant_id": "vlm-a", "qa_id": "f6", "assistant": "x"}\n'
        b"\xff\xfe\n" + json.dumps({**ROW, "qa_id": "f8", "weight": -1}).encode() + b"\n"
    )
    run = score(path, scorer=Same())
    reasons = [f.reason for f in run.frames]
    assert [f.status.value for f in run.frames] == ["scored"] + ["error"] * 6
    assert "line 2: not valid JSON" in reasons[1]
    assert "line 4: expected a JSON object, got list" in reasons[2]
    assert "line 5: field 'assistant': Input should be a valid string (got 7)" in reasons[3]
    assert "line 6: field 'session_id' is missing" in reasons[4]
    assert "line 7: not valid UTF-8" in reasons[5]
    assert "line 8: field 'weight'" in reasons[6]
    assert "(got -1)" in reasons[6]
    assert (run.verdict.n_scored, run.verdict.n_total) == (1, 7)
    assert not run.verdict.passed
    # Rows that say which session they belong to count there.
    assert run.similarity[0].n_total == 3


def test_bad_csv_rows_are_named_by_file_line_and_the_others_still_count(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(
        b"session_id,assistant_id,qa_id,assistant,ground_truth_assistant,weight\n"
        b'c,v,f1,"two\nlines","two\nlines",\n'
        b"c,v,f2,too,few\n"
        b"c,v,f3,\xff,x,\n"
        b"c,v,f4,x,x,heavy\n"
        b"c,v,f5,x,x,2\n"
    )
    run = score(path, scorer=Same())
    assert [f.status.value for f in run.frames] == ["scored", "error", "error", "error", "scored"]
    assert "line 5: expected 6 cells, got 5" in run.frames[1].reason
    assert "line 6: not valid UTF-8" in run.frames[2].reason
    assert "line 7: field 'weight'" in run.frames[3].reason


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_without_a_required_column_is_refused_with_the_nearest_name(tmp_path, suffix):
    row = {("ground_truth" if k == "ground_truth_assistant" else k): v for k, v in ROW.items()}
    path = write(tmp_path / f"data{suffix}", [row])
    with pytest.raises(DataError, match=r"missing column 'ground_truth_assistant'.*'ground_truth'"):
        score(path, scorer=Same())


def test_a_csv_that_names_a_column_twice_is_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("session_id,assistant_id,qa_id,assistant,assistant,ground_truth_assistant\n")
    with pytest.raises(DataError, match="'assistant' appears more than once"):
        score(path, scorer=Same())


def test_json_sessions_keep_their_own_unknown_fields_and_their_frames_win(tmp_path):
    path = tmp_path / "data.json"
    session = {
        "session_id": 7,
        "assistant_id": "vlm",
        "site": "north",
        "conversation": [
            {"qa_id": "a", "assistant": "x", "ground_truth_assistant": "x", "context": "own"},
            {"qa_id": "b", "assistant": "x", "ground_truth_assistant": "x", "site": "south"},
            "no frame",
        ],
    }
    path.write_text(json.dumps(session))
    run = score(path, scorer=Same())
    assert [f.session_id for f in run.frames] == ["7", "7", "7"]
    assert run.frames[0].metadata == {"site": "north", "context": "own"}
    assert run.frames[1].metadata == {"site": "south"}
    assert "session 1, frame 3: expected a JSON object, got str" in run.frames[2].reason


def test_a_json_session_without_an_id_loses_its_frames_and_no_others(tmp_path):
    frame = {"qa_id": "a", "assistant": "x", "ground_truth_assistant": "x"}
    path = tmp_path / "data.json"
    path.write_text(
        json.dumps(
            [
                {"assistant_id": "v", "conversation": [frame, {**frame, "qa_id": "b"}]},
                {"session_id": "c", "assistant_id": "v", "conversation": [frame]},
                {"session_id": "d", "assistant_id": "v"},
            ]
        )
    )
    run = score(path, scorer=Same())
    assert [(f.qa_id, f.status.value) for f in run.frames] == [
        ("a", "error"),
        ("b", "error"),
        ("a", "scored"),
        (None, "error"),
    ]
    assert "session 3: field 'conversation'" in run.frames[3].reason


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.txt", b"", "unknown file type '.txt'; accepted: .jsonl, .csv, .parquet, .json"),
        ("data.json", b"{", "not valid JSON"),
        ("data.json", b"3", "expected a session object or a list of them, got int"),
        ("data.parquet", b"PAR0", "not a Parquet file"),
        ("data.csv", b"", "missing column 'session_id'"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_is_one_clear_error(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"(?s)" + message) as caught:
        score(path, scorer=Same())
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        score(tmp_path / "none.jsonl", scorer=Same())


def test_data_of_a_strange_kind_is_refused_with_the_kinds_that_are_accepted():
    with pytest.raises(InputError, match="can't read data from an object of type int; accepted"):
        score(3, scorer=Same())
    with pytest.raises(InputError, match=r"data\[0\]: expected a Dataset, got .*dict"):
        score([{"session_id": "c"}], scorer=Same())


def test_bytes_in_a_column_are_kept_as_base64_and_break_no_output(tmp_path):
    rows = [{**ROW, "jpeg": b"\xff\xd8", "nested": [{"mask": b"\x00"}]}]
    run = score(write(tmp_path / "data.parquet", rows), scorer=Same())
    assert run.frames[0].metadata == {"jpeg": "/9g=", "nested": [{"mask": "AA=="}]}
    for name in ("run.json", "run.jsonl", "run.csv", "run.parquet"):
        write_run(run, tmp_path / name)


@pytest.mark.parametrize("field", ["assistant", "qa_id", "session_id", "weather", "we\ud800er"])
def test_a_lone_surrogate_anywhere_costs_its_row_and_breaks_no_output(tmp_path, field):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({**ROW, field: "\ud800"}) + "\n" + json.dumps(ROW) + "\n")
    run = score(path, scorer=Same())
    assert [f.status.value for f in run.frames] == ["error", "scored"]
    assert "line 1: field" in run.frames[0].reason
    assert "lone surrogate" in run.frames[0].reason
    for name in ("run.json", "run.jsonl", "run.csv", "run.parquet"):
        write_run(run, tmp_path / name)


def test_a_quote_that_is_never_closed_costs_its_own_line(tmp_path):
    path = tmp_path / "data.csv"
    header = "session_id,assistant_id,qa_id,assistant,ground_truth_assistant\n"
    good = "".join(f"c,v,g{i},x,x\n" for i in range(6))
    path.write_text(f'{header}c,v,bad,"x,x\n{good}')
    run = score(path, scorer=Same())
    assert [f.status.value for f in run.frames] == ["error"] + ["scored"] * 6
    assert "line 2: expected 5 cells, got 4" in run.frames[0].reason


def test_a_csv_cell_may_hold_several_references_and_other_json(tmp_path):
    path = tmp_path / "data.csv"
    row = {**ROW, "ground_truth_assistant": '["a dog", "a man fell"]', "agentic": '{"sure": 1}'}
    pd.DataFrame([row]).to_csv(path, index=False)
    run = score(path, scorer=Same())
    assert run.frames[0].ground_truth_assistant == ["a dog", "a man fell"]
    assert run.frames[0].similarity_score == 1.0


def test_a_utf16_csv_is_refused_by_name(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("session_id,qa_id\n".encode("utf-16"))
    with pytest.raises(DataError, match="is UTF-16; expected UTF-8"):
        score(path, scorer=Same())


def test_a_null_context_is_an_empty_one_in_every_format(tmp_path):
    path = tmp_path / "data.json"
    frame = {"qa_id": "a", "assistant": "x", "ground_truth_assistant": "x", "query": None}
    session = {"session_id": "c", "assistant_id": "v", "context": None, "conversation": [frame]}
    path.write_text(json.dumps(session))
    assert score(path, scorer=Same()).verdict.passed


def test_a_number_of_thousands_of_digits_is_an_error_of_its_row(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"weight": ' + "9" * 5000 + "}\n" + json.dumps(ROW) + "\n")
    run = score(path, scorer=Same())
    assert [f.status.value for f in run.frames] == ["error", "scored"]
