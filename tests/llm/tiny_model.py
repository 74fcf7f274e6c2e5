"""Language models of a few thousand random weights, and real files of them: what they write means nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

CHAT = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}<assistant>"
SPECIAL = ["<pad>", "<s>", "</s>"]
SPACES = "ĠĠ"  # two spaces: the only token of more than a byte, as a byte-level vocabulary needs a merge
SIZE = len(SPECIAL) + 256 + 1


def tokenizer(chat: str | None = None) -> Any:
    """About one token for each byte, so that it can read and write anything."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: at for at, token in enumerate([*SPECIAL, *letters, SPACES])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[("Ġ", "Ġ")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    found = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )
    found.chat_template = chat
    return found


def model(kind: str = "llama") -> Any:
    """Two layers; `gemma` looks through a window of eight tokens in one of them."""
    import torch
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(7)
    sizes = {
        "vocab_size": SIZE, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 8192,
        "initializer_range": 0.3, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    if kind == "llama":
        return LlamaForCausalLM(LlamaConfig(**sizes)).eval()
    layers = ["sliding_attention", "full_attention"]
    config = Gemma3TextConfig(**sizes, head_dim=8, sliding_window=8, layer_types=layers)
    return Gemma3ForCausalLM(config).eval()


def save(folder: Path, chat: str | None = None) -> Path:
    """A folder as transformers keeps them."""
    model().save_pretrained(folder)
    tokenizer(chat).save_pretrained(folder)
    return folder


def write_gguf(path: Path, merges: Sequence[str] = ("Ġ Ġ",)) -> Path:
    """The same model, as a GGUF file."""
    import gguf

    made = model()
    config = made.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    vocabulary = tokenizer().get_vocab()
    writer.add_token_list(sorted(vocabulary, key=vocabulary.__getitem__))
    writer.add_token_types([3] * len(SPECIAL) + [1] * (SIZE - len(SPECIAL)))
    writer.add_token_merges(list(merges))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in made.state_dict().items():
        known = names.get_name(name, try_suffixes=(".weight",))
        assert known, name
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        writer.add_tensor(known, _interleaved(tensor.numpy(), heads.get(name.split(".")[-2], 0)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _interleaved(weights: Any, heads: int) -> Any:
    """Rows of queries and keys in the order in which GGUF has them; anything else (no heads) as it is."""
    if not heads:
        return weights
    rows, columns = weights.shape
    halves = weights.reshape(heads, 2, rows // heads // 2, columns)
    return halves.swapaxes(1, 2).reshape(rows, columns)
