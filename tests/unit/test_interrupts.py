"""When a signal is heard."""

import subprocess
import sys

ASLEEP = """
import os, signal, sys, threading
from pathlib import Path
from surefoot.interrupts import end_on_signals

end_on_signals()
never, _ = os.pipe()
main = Path(f"/proc/self/task/{os.getpid()}/stat")

def signal_elsewhere():
    while main.read_text().rpartition(")")[2].split()[0] != "S":
        pass
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

try:
    threading.Thread(target=signal_elsewhere, daemon=True).start()
    os.read(never, 1)
except KeyboardInterrupt:
    print("heard")
"""


def test_a_signal_is_heard_by_a_main_thread_that_sleeps_through_it() -> None:
    """It is noted by another thread, so that nothing cuts the system call short: as if it came just before the call."""
    command = [sys.executable, "-c", ASLEEP]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stdout == "heard\n"
