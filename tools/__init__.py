"""What writes files of this repository that are kept in it."""
