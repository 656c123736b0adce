"""Reading through and seeking agree on the number of every frame, whatever order and loss."""

from __future__ import annotations

import heapq
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from framejudge.frames.video_index import FrameCounter, PacketInfo, PacketTable, Settler


@st.composite
def streams(draw):
    """Packets in decoding order, at most four places from showing order; and what is lost."""
    gaps = draw(st.lists(st.integers(1, 9), min_size=1, max_size=40))
    stamps = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    order = sorted(range(len(stamps)), key=lambda i: (i + draw(st.integers(0, 4)), i))
    packets = [PacketInfo(stamps[i], place, place == 0, True) for place, i in enumerate(order)]
    lost = draw(st.sets(st.sampled_from(stamps), max_size=len(stamps)))
    return packets, lost


def decoded(packets, lost, *, delay=5):
    """What a decoder with a buffer of `delay` frames gives after each packet."""
    held = []
    for packet in packets:
        if packet.pts not in lost:
            heapq.heappush(held, packet.pts)
        yield packet, [heapq.heappop(held)] if len(held) > delay else []
    yield None, sorted(held)


@given(streams())
def test_numbers_counted_on_the_way_are_places_among_all_timestamps(stream):
    packets, lost = stream
    table = PacketTable(packets)
    counter = FrameCounter()
    for packet, shown in decoded(packets, lost):
        if packet is not None:
            counter.feed(packet)
        for pts in shown:
            assert counter.number(pts) == table.pts.index(pts)
    counter.finish()
    assert sorted(counter.missing) == sorted(lost)


@given(streams())
def test_frames_leave_in_the_order_they_came_and_none_is_kept(stream):
    packets, lost = stream
    settler = Settler()
    dts_of = {packet.pts: packet.dts for packet in packets}
    came, left = [], []
    for packet, shown in decoded(packets, lost):
        if packet is not None:
            settler.feed(packet.dts)
            if packet.pts in lost:
                settler.settle(packet.dts)
        came += shown
        frames = [SimpleNamespace(pts=pts, dts=dts_of[pts]) for pts in shown]
        left += [frame.pts for frame in settler.release(frames, is_last=packet is None)]
    assert left == came


@given(streams(), st.floats(0.01, 30.0))
def test_ticks_are_ascending_and_each_is_the_first_at_or_after_its_time(stream, every):
    table = PacketTable(stream[0])
    picked = table.ticks(every, 1.0, slack_s=1e-6)
    assert picked[0] == 0
    assert picked == sorted(set(picked))
    for index in picked[1:]:
        # A multiple of the interval lies after the frame before, and not after this one.
        passed = (table.pts[index] - table.pts[0] + 1e-6) // every
        assert table.pts[0] + passed * every > table.pts[index - 1] - 2e-6
