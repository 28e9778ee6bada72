"""Does measuring a peer need nothing but Python?"""

import subprocess
import sys

from support import ROOT


def test_peers_are_measured_where_tellwhen_is_not_installed():
    code = "import sys; sys.modules['tellwhen'] = None; import bench.peers.protocol, bench.peers.process"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
