"""A language model of 60 kB that llama.cpp loads in a moment: it babbles letters, but its process is the real one.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_WIDTH: Final = 32
_HIDDEN: Final = 64
_HEADS: Final = 2
_TRAINED_CONTEXT: Final = 2048
_ALIGNMENT: Final = 32
_GAP_MARKS: Final = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
_TOKENS: Final = (
    "<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), "\u2581", *_GAP_MARKS,
)  # fmt: skip
_FIRST_BYTE: Final = 3
_TYPES: Final = (2, 3, 3, *(6,) * 256, 1, *(3,) * len(_GAP_MARKS))
"""Unknown, two control tokens, bytes, one normal token, control tokens around a gap."""
_LETTERS: Final = frozenset(range(_FIRST_BYTE + ord("a"), _FIRST_BYTE + ord("z") + 1))
_TEMPLATE: Final = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def write_tiny_gguf(path: Path, *, seed: int = 1) -> Path:
    """Write the model; the same seed gives the same bytes."""
    chance = random.Random(seed)  # noqa: S311  # weights, not secrets
    tensors = _tensors(chance)
    entries = _entries()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries)
    offset, body = 0, b""
    for name, shape, values in tensors:
        head += _text(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", n) for n in shape)
        head += struct.pack("<IQ", 0, offset)
        data = struct.pack(f"<{len(values)}f", *values)
        data += bytes(-len(data) % _ALIGNMENT)
        body += data
        offset += len(data)
    head += bytes(-len(head) % _ALIGNMENT)
    path.write_bytes(head + body)
    return path


Tensor = tuple[str, tuple[int, ...], Sequence[float]]


def _tensors(chance: random.Random) -> list[Tensor]:
    def noise(name: str, columns: int, rows: int) -> Tensor:
        return name, (columns, rows), [chance.gauss(0, 0.3) for _ in range(columns * rows)]

    def ones(name: str) -> Tensor:
        return name, (_WIDTH,), [1.0] * _WIDTH

    # Rows of zeros give the logit 0, so that the likeliest token is always a letter.
    output: list[float] = []
    for token in range(len(_TOKENS)):
        spoken = token in _LETTERS
        output += [chance.gauss(0, 1.0) if spoken else 0.0 for _ in range(_WIDTH)]
    return [
        noise("token_embd.weight", _WIDTH, len(_TOKENS)),
        ones("output_norm.weight"),
        ("output.weight", (_WIDTH, len(_TOKENS)), output),
        ones("blk.0.attn_norm.weight"),
        *(noise(f"blk.0.attn_{part}.weight", _WIDTH, _WIDTH) for part in ("q", "k", "v", "output")),
        ones("blk.0.ffn_norm.weight"),
        noise("blk.0.ffn_gate.weight", _WIDTH, _HIDDEN),
        noise("blk.0.ffn_up.weight", _WIDTH, _HIDDEN),
        noise("blk.0.ffn_down.weight", _HIDDEN, _WIDTH),
    ]


def _entries() -> list[bytes]:
    numbers = {
        "llama.context_length": _TRAINED_CONTEXT,
        "llama.embedding_length": _WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": _HIDDEN,
        "llama.attention.head_count": _HEADS,
        "llama.rope.dimension_count": _WIDTH // _HEADS,
        "llama.vocab_size": len(_TOKENS),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }
    tokens = b"".join(_text(t) for t in _TOKENS)
    scores = struct.pack(f"<{len(_TOKENS)}f", *(0.0,) * len(_TOKENS))
    types = struct.pack(f"<{len(_TYPES)}i", *_TYPES)
    return [
        _entry("general.architecture", 8, _text("llama")),
        *(_entry(name, 4, struct.pack("<I", value)) for name, value in numbers.items()),
        _entry("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)),
        _entry("tokenizer.ggml.model", 8, _text("llama")),
        _entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, len(_TOKENS)) + tokens),
        _entry("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, len(_TOKENS)) + scores),
        _entry("tokenizer.ggml.token_type", 9, struct.pack("<IQ", 5, len(_TYPES)) + types),
        _entry("tokenizer.ggml.add_bos_token", 7, struct.pack("<?", False)),
        _entry("tokenizer.chat_template", 8, _text(_TEMPLATE)),
    ]


def _entry(name: str, kind: int, value: bytes) -> bytes:
    return _text(name) + struct.pack("<I", kind) + value


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
