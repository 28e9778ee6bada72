"""The rivals of A-Tree in its paper (SIGMOD 2021, section 2); `atree` itself is in `engines/`."""
