"""MurmurHash3, the 32-bit hash of RAPPOR's Bloom filter."""

from __future__ import annotations

_MASK = 0xFFFFFFFF


def murmur3(data: bytes, seed: int = 0) -> int:
    """Return MurmurHash3_x86_32 of `data` as a signed number, in -2^31..2^31-1, the form used by most programs.

    Args:
        data: any bytes.
        seed: in 0..2^32-1.

    References:
        Appleby (2011), MurmurHash3, variant x86_32: fast and well distributed, but not a cryptographic hash.

    Example:
        >>> murmur3(b"hello", seed=0)
        613153351
    """
    hashed, whole = seed, len(data) - len(data) % 4
    for start in range(0, whole, 4):
        hashed ^= _scrambled(data[start : start + 4])
        hashed = (_rotated(hashed, 13) * 5 + 0xE6546B64) & _MASK
    hashed ^= _scrambled(data[whole:])
    hashed ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashed = ((hashed ^ (hashed >> shift)) * factor) & _MASK
    hashed ^= hashed >> 16
    return hashed - ((hashed & 0x80000000) << 1)


def _scrambled(block: bytes) -> int:
    """Return the scrambled word of up to four bytes, the lowest first."""
    return (_rotated((int.from_bytes(block, "little") * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _MASK
