"""Background work that keeps an index small and fast."""
