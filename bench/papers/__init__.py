"""What do the papers measure? Their figures and tables, each an experiment that is named after it."""
