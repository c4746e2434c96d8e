"""Short texts for things and errors of other people's code, whatever these answer when they are asked."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

LONGEST = 60
"""Characters of a label, digest included."""


def cut(text: str) -> str:
    """`text` if it is short, else its beginning and a digest of the whole; what UTF-8 cannot hold is escaped."""
    clean = printable(text)
    if len(clean) <= LONGEST and clean == text:
        return text
    return f"{clean[: LONGEST - 13]}... #{digest(text).hex()}"


def printable(text: str) -> str:
    """`text` with lone surrogates, which no file or terminal takes, as escapes such as \\ud800."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def shown(thing: Any) -> str:
    """The `repr` of anything, cut; of what cannot even say that, its class."""
    try:
        return cut(repr(thing))
    except BaseException as error:
        return f"<a {class_name(thing)}, whose repr raises {class_name(error)}>"


def in_words(error: BaseException) -> str:
    """An exception as "ValueError: its message"."""
    message = message_of(error)
    return f"{class_name(error)}: {printable(message)}" if message else class_name(error)


def message_of(error: BaseException) -> str:
    """What an exception says, whatever its `__str__` does."""
    try:
        return str(error)
    except BaseException as worse:
        return f"<a message that raises {class_name(worse)}>"


def class_name(thing: Any) -> str:
    """Name of the class of anything, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(type(thing)))


def digest(text: str) -> bytes:
    """Four bytes that differ where texts do, but for one pair in 2^32."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=4).digest()
