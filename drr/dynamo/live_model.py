"""A model folder for the mock engine of a live Dynamo: ``python -m drr.dynamo.live_model FOLDER``.

The mock engine computes nothing, but the frontend wants a tokenizer and a chat template. The tokenizer knows 8,192
made-up words; every blank-separated word of ``w0`` to ``w8187`` is one token.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from drr.errors import DrrError

VOCABULARY = 8_192
CONTEXT_TOKENS = 32_768
_SPECIAL = ("<unk>", "<s>", "</s>", "<pad>")
_SPECIAL_IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3}
_CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"


def write_model_folder(folder: Path) -> Path:
    """Write the files; raises :class:`DrrError` where that cannot be done. Returns the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in _files().items():
            (folder / name).write_text(json.dumps(content), encoding="utf-8")
    except OSError as error:
        raise DrrError(f"cannot write the model folder {folder}: {error.strerror or error}") from None
    return folder


def _files() -> dict[str, Any]:
    words = [*_SPECIAL, *(f"w{i}" for i in range(VOCABULARY - len(_SPECIAL)))]
    special = [
        {"id": i, "content": word, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for i, word in enumerate(_SPECIAL)
    ]
    return {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": VOCABULARY,
            "max_position_embeddings": CONTEXT_TOKENS,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "torch_dtype": "float32",
            **_SPECIAL_IDS,
        },
        "generation_config.json": _SPECIAL_IDS,
        "tokenizer.json": {
            "version": "1.0",
            **dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder")),
            "added_tokens": special,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "model": {
                "type": "WordLevel",
                "vocab": {word: i for i, word in enumerate(words)},
                "unk_token": "<unk>",
            },
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": "<unk>",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "model_max_length": CONTEXT_TOKENS,
            "chat_template": _CHAT_TEMPLATE,
        },
    }


def main(arguments: list[str]) -> int:
    """Write the folder named on the command line."""
    if len(arguments) != 1:
        print("usage: python -m drr.dynamo.live_model FOLDER", file=sys.stderr)
        return 2
    try:
        print(f"model folder: {write_model_folder(Path(arguments[0]))}")
    except DrrError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
