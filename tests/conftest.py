"""What holds for all tests."""

from hypothesis import settings

# A busy machine may stop any example for a second; how long one takes is never what a property is about.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
