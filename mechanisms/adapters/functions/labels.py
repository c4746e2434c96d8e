"""Short texts for objects and errors of user code, whatever their methods return or raise."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

LONGEST = 60
"""Largest number of characters of a label, digest included."""


def cut(text: str) -> str:
    """Return `text` if it is short, otherwise its beginning and a digest; escape what UTF-8 cannot hold."""
    clean = printable(text)
    if len(clean) <= LONGEST and clean == text:
        return text
    return f"{clean[: LONGEST - 13]}... #{digest(text).hex()}"


def printable(text: str) -> str:
    r"""Return `text` with lone surrogates, which files and terminals refuse, as escapes such as \ud800."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def shown(thing: Any) -> str:
    """Return the `repr` of any object, cut to a label; its class if `repr` raises."""
    try:
        return cut(repr(thing))
    except BaseException as error:
        return f"<a {class_name(thing)}, whose repr raises {class_name(error)}>"


def in_words(error: BaseException) -> str:
    """Return an exception as text: "ValueError: its message"."""
    message = message_of(error)
    return f"{class_name(error)}: {printable(message)}" if message else class_name(error)


def message_of(error: BaseException) -> str:
    """Return the message of an exception, whatever its `__str__` does."""
    try:
        return str(error)
    except BaseException as worse:
        return f"<a message that raises {class_name(worse)}>"


def class_name(thing: Any) -> str:
    """Return the name of the class of any object, whatever its metaclass does."""
    return str(type.__dict__["__name__"].__get__(type(thing)))


def digest(text: str) -> bytes:
    """Return four bytes that differ between different texts, except for one pair in 2^32."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=4).digest()
