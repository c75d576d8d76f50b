"""Files that are handed to the interpreter of the project under test; Python 3.8 syntax, no import of ours."""
