"""What tokens say: read from the files of tokenizers."""

import json

import pytest

from theory import failure
from theory.failure.explaining.texts import _BYTES, _decoded


def tokenizer(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_texts_of_tokenizers(tmp_path):
    byte_level = {"model": {"vocab": {"Ġthe": 0, "Ċ": 1, "â": 2, "Ã©": 3, "가": 5}}, "decoder": {"type": "ByteLevel"}}
    byte_level["added_tokens"] = [{"id": 4, "content": "<|im_start|>"}]
    assert failure.read_texts(tokenizer(tmp_path, byte_level)) == {
        0: " the",
        1: "\n",
        2: "\\xe2",
        3: "é",
        4: "<|im_start|>",
        5: "가",
    }
    unigram = {"model": {"vocab": [["<unk>", 0.0], ["▁the", -1.5]]}, "added_tokens": None}
    assert failure.read_texts(tokenizer(tmp_path, unigram)) == {0: "<unk>", 1: " the"}
    assert failure.read_texts(tokenizer(tmp_path, {"the": 3})) == {3: "the"}


def test_every_byte_has_its_character():
    characters = [chr(code) for code in range(0x200)]
    decoded = {_decoded(character + "a")[:-1] for character in characters if _decoded(character) != character}
    assert len(_BYTES) == 256
    assert "\\x80" in decoded


@pytest.mark.parametrize(
    "content", ["{", "[1, 2]", "3", '{"a": "b"}', '{"model": {}}', '{"model": {"vocab": [1]}}', '{"a": true}']
)
def test_what_is_no_tokenizer_is_refused(content, tmp_path):
    with pytest.raises(ValueError, match=r"tokenizer\.json: is (no JSON text|neither a tokenizer)"):
        failure.read_texts(tokenizer(tmp_path, content))
