"""Events (dicts, Arrow, frames) -> POINTS: the flat arrays that kernels match."""
