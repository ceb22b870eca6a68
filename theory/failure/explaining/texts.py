"""What tokens say: read from a tokenizer's file, or given by whoever asks."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TAIL = "(tail)"
"""The text of what a truncated row does not list."""

Texts = Mapping[int, str] | Sequence[str]
"""What each token says."""


def text_of(token: int, texts: Texts | None) -> str:
    """Give what a token says, nothing where that is not known."""
    if token < 0:
        return TAIL
    if texts is None:
        return ""
    if isinstance(texts, Mapping):
        return texts.get(token, "")
    return texts[token] if token < len(texts) else ""


def read_texts(path: str | os.PathLike[str]) -> dict[int, str]:
    r"""Read what each token says from a ``tokenizer.json`` of Hugging Face's tokenizers, or a ``vocab.json`` of token to id.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict of int to str
        Byte-level tokens are decoded, bytes that are no text by themselves as ``\xe2``; the word mark of SentencePiece is a
        space.

    Raises
    ------
    ValueError
        Where the file is neither.
    OSError
        Where it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "tokenizer.json")
    >>> model = {"type": "BPE", "vocab": {"Ġthe": 7}}
    >>> _ = path.write_text(json.dumps({"model": model, "decoder": {"type": "ByteLevel"}}))
    >>> read_texts(path)
    {7: ' the'}
    """
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path = {path!r}: must be the path of a file")
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as damage:
        raise OSError(f"{path}: {damage.strerror}") from None
    except ValueError as damage:
        raise ValueError(f"{path}: is no JSON text: {damage}") from None
    whole = isinstance(content, dict) and isinstance(content.get("model"), dict)
    vocabulary = content["model"].get("vocab") if whole else content
    added = content.get("added_tokens") or [] if whole else []
    try:
        if isinstance(vocabulary, list):  # of pairs of token and score
            pairs = [(str(entry[0]), number) for number, entry in enumerate(vocabulary)]
        else:
            pairs = [(str(token), _id(number)) for token, number in vocabulary.items()]
        special = {_id(entry["id"]): str(entry["content"]) for entry in added}
    except (AttributeError, KeyError, IndexError, TypeError):
        raise ValueError(f"{path}: is neither a tokenizer.json nor a vocab.json of token to id") from None
    byte_level = whole and "ByteLevel" in json.dumps([content.get("decoder"), content.get("pre_tokenizer")])
    return {number: _decoded(token) if byte_level else token.replace("▁", " ") for token, number in pairs} | special


def _id(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError
    return number


def _bytes_of_characters() -> dict[str, int]:
    """Give the byte that each character of a byte-level token stands for: itself where printable, else one from 256 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + number): byte for number, byte in enumerate(others)}


_BYTES = _bytes_of_characters()


def _decoded(token: str) -> str:
    if not all(character in _BYTES for character in token):
        return token
    return bytes(_BYTES[character] for character in token).decode("utf-8", errors="backslashreplace")
