"""Files that are written once and for their owner alone."""

from __future__ import annotations

import stat
import threading

import pytest

from framejudge._files import place
from framejudge._private_files import create_private, refuse_existing
from framejudge.errors import ConfigurationError


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_file_is_whole_and_its_owners(tmp_path):
    file = tmp_path / "a" / "b" / "report.json"
    create_private(file, b"{}")
    assert file.read_bytes() == b"{}"
    assert (mode(file), mode(file.parent), mode(file.parent.parent)) == (0o600, 0o700, 0o700)
    assert [path.name for path in file.parent.iterdir()] == ["report.json"]


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_what_is_there_stays_as_it_is(tmp_path, kind):
    file = tmp_path / "report.json"
    if kind == "file":
        file.write_text("old")
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to(tmp_path / "nowhere")
    for write in (lambda: create_private(file, b"new"), lambda: refuse_existing(file)):
        with pytest.raises(ConfigurationError, match=r"report\.json: exists"):
            write()
    assert len(list(tmp_path.iterdir())) == 1
    assert kind != "file" or file.read_text() == "old"


def test_a_link_among_the_folders_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(ConfigurationError, match="link: is a link"):
        create_private(tmp_path / "link" / "report.json", b"{}")
    assert list((tmp_path / "real").iterdir()) == []


def test_of_several_writers_one_wins(tmp_path):
    file = tmp_path / "report.json"
    outcomes = []

    def write(number):
        try:
            create_private(file, f"{number}".encode() * 10_000)
            outcomes.append(number)
        except ConfigurationError:
            outcomes.append(None)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = (number for number in outcomes if number is not None)
    assert file.read_bytes() == f"{winner}".encode() * 10_000


def test_a_store_creates_and_does_not_replace():
    from fsspec.implementations.memory import MemoryFileSystem

    try:
        file = place("memory://audit/report.json")
        create_private(file, b"one")
        with pytest.raises(ConfigurationError, match="exists"):
            create_private(file, b"two")
        assert file.read_bytes() == b"one"
    finally:
        MemoryFileSystem.store.clear()
