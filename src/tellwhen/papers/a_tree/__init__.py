"""The systems that the A-Tree paper compares with; `atree` itself is in `engines/`."""
