"""The loops of PS-Trees and of records."""
