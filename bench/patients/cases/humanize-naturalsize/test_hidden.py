"""What the fixed release does, beyond the issue's examples."""

import humanize


def test_other_sizes() -> None:
    assert humanize.naturalsize(2.7) == "2 Bytes"
    assert humanize.naturalsize(-2.7) == "-2 Bytes"
    assert humanize.naturalsize("300") == "300 Bytes"
    assert humanize.naturalsize(999.9) == "999 Bytes"
    assert humanize.naturalsize(1000.5, binary=True) == "1000 Bytes"
    assert humanize.naturalsize("37.5", gnu=True) == "37B"
    assert humanize.naturalsize(1) == "1 Byte"
    assert humanize.naturalsize(1123.456789) == "1.1 kB"
