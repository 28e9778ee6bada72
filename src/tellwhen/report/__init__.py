"""Results -> one HTML page that opens offline."""
