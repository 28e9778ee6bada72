"""Does the table show peers with and without times?"""

from bench.peers.commands import make_table
from bench.peers.measurement import measure_peer

from peer_support import FAKE_PEER, LIMITS


def test_the_table_shows_what_there_is(work_folder, make_fake_peer):
    rows = [
        measure_peer(make_fake_peer(text), work_folder, 100, LIMITS)
        for text in (FAKE_PEER.format(change=""), "raise ValueError")
    ]
    assert make_table("fakes", rows).row_count == 2
