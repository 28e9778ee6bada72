"""KERNELS of the scored structures: a file builds or walks one of them; `cursors.py` tells them apart."""
