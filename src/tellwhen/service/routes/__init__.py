"""Which paths are there? Each is a few lines: what they do is in the rooms beside."""
