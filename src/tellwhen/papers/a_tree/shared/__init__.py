"""What the tree engines of the A-Tree paper share."""
