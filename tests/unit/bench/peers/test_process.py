"""Does a process that cannot be started fail?"""

from bench.peers.process import run


def test_a_command_that_is_not_there_has_failed():
    assert run(["/no/such/command"], 1, 100).status == "failed"
