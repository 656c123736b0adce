"""Numbers of frames, places to start from, and what leans on damage: by hand, without a decoder."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from framejudge.frames.video_index import (
    DamageTracker,
    FrameCounter,
    PacketInfo,
    PacketTable,
    Settler,
)

# A keyframe, a P frame two later and the B frame between them, twice: pts in order of decoding.
PTS = [0, 2, 1, 3, 5, 4]


def packets(pts, *, keys=(0, 3), hidden=()):
    return [PacketInfo(p, i - 1, p in keys, p not in hidden) for i, p in enumerate(pts)]


def frame(dts):
    return SimpleNamespace(dts=dts)


def test_frames_are_numbered_by_timestamp_not_by_place_in_the_file():
    table = PacketTable(packets(PTS))
    assert table.is_seekable
    assert table.pts == [0, 1, 2, 3, 4, 5]


def test_decoding_starts_at_the_last_keyframe_at_or_before_a_frame():
    table = PacketTable(packets(PTS))
    assert [entry.ordinal for entry in table.entries_before(4)] == [3, 0]
    assert table.entry_before(2).ordinal == 0
    assert table.entry_before(-1) is None


def test_a_packet_that_an_edit_list_hides_has_no_number():
    assert PacketTable(packets(PTS, hidden={5})).pts == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "damaged",
    [
        [PacketInfo(None, None, True, True)],
        [*packets(PTS), *packets(PTS)],  # spliced: timestamps start again
        [],
    ],
)
def test_timestamps_that_name_no_frame_are_not_trusted(damaged):
    assert not PacketTable(damaged).is_seekable


def test_a_time_shows_the_frame_that_began_last():
    table = PacketTable([PacketInfo(p, p, p == 0, True) for p in (10, 20, 50)])
    assert [table.index_at(p) for p in (0, 10, 19, 49, 99)] == [0, 0, 0, 1, 2]


def test_ticks_give_the_first_frame_at_or_after_each_and_none_twice():
    # At 0.1 s a tick: 0 -> 0 s, 0.1 -> 0.12 s, 0.2 and 0.3 -> 0.35 s (once), 0.4 -> 0.4 s.
    table = PacketTable([PacketInfo(p, p, p == 0, True) for p in (0, 5, 12, 35, 40, 41)])
    assert table.ticks(0.1, 0.01, slack_s=1e-6) == [0, 2, 3, 4]


def test_a_frame_that_never_comes_keeps_its_number():
    counter = FrameCounter()
    for packet in packets(PTS):
        counter.feed(packet)
    assert [counter.number(p) for p in (0, 1, 3, 4)] == [0, 1, 3, 4]
    counter.finish()
    assert counter.missing == [2, 5]


def test_where_timestamps_run_backwards_frames_are_counted():
    counter = FrameCounter()
    numbers = []
    for packet in [*packets([0, 1, 2]), *packets([0, 1, 2])]:
        counter.feed(packet)
        numbers.append(counter.number(packet.pts))
    counter.finish()
    assert numbers == [0, 1, 2, 3, 4, 5]
    assert counter.missing == []


def test_frames_without_timestamps_are_counted():
    counter = FrameCounter()
    counter.feed(PacketInfo(None, None, True, True))
    assert [counter.number(None), counter.number(None)] == [0, 1]


def test_damage_reaches_to_the_next_keyframe_and_not_back():
    tracker = DamageTracker()
    tracker.feed_key(0)
    tracker.damage(3)
    tracker.feed_key(6)
    tainted = [tracker.is_tainted(dts, is_key=dts in (0, 6)) for dts in (0, 2, 3, 5, 6, 7)]
    assert tainted == [False, False, True, True, False, False]


def test_a_damaged_keyframe_taints_what_follows():
    tracker = DamageTracker()
    tracker.feed_key(4)
    tracker.damage(4)
    assert tracker.is_tainted(4, is_key=False)
    assert tracker.is_tainted(5, is_key=False)


def test_damage_without_a_time_reaches_to_the_next_whole_keyframe():
    tracker = DamageTracker()
    tracker.damage(None)
    assert tracker.is_tainted(None, is_key=False)
    assert not tracker.is_tainted(None, is_key=True)
    assert not tracker.is_tainted(None, is_key=False)


def test_a_frame_waits_for_those_it_may_lean_on():
    # Decoded I P B, shown I B P: the B may lean on the P, which comes out after it.
    settler = Settler()
    for dts in (0, 1, 2):
        settler.feed(dts)
    i, b, p = frame(0), frame(2), frame(1)
    assert settler.release([i]) == [i]
    assert settler.release([b]) == []
    assert settler.release([p]) == [b, p]


def test_a_frame_does_not_wait_for_one_that_failed():
    settler = Settler()
    settler.feed(0)
    settler.feed(1)
    settler.settle(0)
    later = frame(1)
    assert settler.release([later]) == [later]


def test_a_frame_that_a_decoder_dropped_silently_is_not_waited_for_for_ever():
    settler = Settler()
    for dts in range(20):
        settler.feed(dts)
    late = [frame(dts) for dts in range(1, 20)]
    assert settler.release(late) == late[:3]  # more than the 16 that a decoder may hold back
    assert settler.release([], is_last=True) == late[3:]
