"""Does every peer have a fixed version?"""

from bench.peers import registry
from bench.peers.registry import PEERS


def test_every_peer_is_pinned():
    for peer in PEERS:
        assert peer.version[0].isdigit(), peer.name
        assert not list((registry.HERE / peer.folder).glob("*.sum")), peer.name
        assert not list((registry.HERE / peer.folder).glob("*.lock")), peer.name
