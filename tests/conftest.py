"""What holds for all tests."""

import signal

from hypothesis import settings

# A busy machine may stop any example for a second; how long one takes is never what a property is about.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# A shell that starts the tests in the background has them ignore ctrl-C, and so would every process that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
