"""Writes golden.json: small tokenizers of many kinds, and what the Rust library `tokenizers` makes of texts with them.

Needs: pip install tokenizers==0.23.2. Run in this folder. Equally
frequent pairs are merged in another order on each run, so a new file has other vocabularies.
"""

import json
import random

from tokenizers import Regex, Tokenizer, models, normalizers, trainers
from tokenizers import pre_tokenizers as pre

random.seed(7)

CORPUS = [
    "The quick brown fox doesn't jump over the lazy dog; it'll walk, and we've seen 12345 of them. Hello world! Hello  world",
    "naïve café 日本語 テスト Привет мир 😀🦙 e\u0301 한국어 ﬁ \t\n\n  x = [a_b, (c)];\r\n    return 'the other'  ",
    "Once upon a time there was a little fox who lived in the woods. One day the fox went to the lake.",
] * 3

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PUNCTUATED = (
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
    r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def added(j, *tokens):
    vocab = j["model"]["vocab"]
    names = vocab if isinstance(vocab, dict) else {entry[0]: i for i, entry in enumerate(vocab)}
    free = max([*names.values(), *(token["id"] for token in j["added_tokens"])]) + 1
    for content, options in tokens:
        token_id = names.get(content, free)
        free += token_id == free
        defaults = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
        j["added_tokens"].append(dict(id=token_id, content=content) | defaults | options)
    return j


def parts(model, **components):
    empty = dict(truncation=None, padding=None, added_tokens=[], normalizer=None, pre_tokenizer=None, post_processor=None)
    return {"version": "1.0"} | empty | {"decoder": None} | components | {"model": model}


def bpe(vocab, merges, **options):
    names = {piece: i for i, piece in enumerate(dict.fromkeys(vocab))}
    keys = "dropout unk_token continuing_subword_prefix end_of_word_suffix".split()
    flags = "fuse_unk byte_fallback ignore_merges".split()
    return {"type": "BPE"} | dict.fromkeys(keys) | dict.fromkeys(flags, False) | options | dict(vocab=names, merges=merges)


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


def byte_level(pre_tokenizer, normalizer=None, decoder=BYTE_LEVEL):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizer
    if normalizer:
        t.normalizer = normalizer
    alphabet = pre.ByteLevel.alphabet()
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=340, initial_alphabet=alphabet, show_progress=False))
    return json.loads(t.to_str()) | dict(decoder=decoder)


def split(*patterns):
    words = [pre.Split(Regex(pattern), "isolated") for pattern in patterns]
    return pre.Sequence([*words, pre.ByteLevel(add_prefix_space=False, use_regex=False)])


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
REPLACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
UNPREFIXED = [REPLACE, {"type": "ByteFallback"}, {"type": "Fuse"}]
PREFIXED = [*UNPREFIXED, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]


def sentencepiece(pre_tokenizer, normalizer, decoder):
    t = Tokenizer(models.BPE(fuse_unk=True, byte_fallback=True, unk_token="<unk>"))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre.Split(Regex("▁?[^▁]+|▁+"), "isolated")
    special = ["<unk>", "<s>", "</s>", *BYTES]
    t.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=360, show_progress=False, special_tokens=special, limit_alphabet=50)
    )
    j = json.loads(t.to_str()) | dict(normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=decoder)
    j["added_tokens"] = j["added_tokens"][:3]
    return j


def sequence(steps):
    return {"type": "Sequence", "decoders": steps}


def framed(token_id, name):
    single = [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    special = {name: {"id": name, "ids": [token_id], "tokens": [name]}}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}


TEXT, PLAIN = dict(special=False), {}
made = {}

j = added(byte_level(split(LLAMA3)), ("<|begin_of_text|>", PLAIN), ("<|eot_id|>", PLAIN))
j["model"]["ignore_merges"] = True
processors = [BYTE_LEVEL, framed(j["added_tokens"][0]["id"], "<|begin_of_text|>")]
made["llama3"] = j | dict(post_processor={"type": "Sequence", "processors": processors})
j = byte_level(split(LLAMA3.replace("{1,3}", "")), normalizers.NFC())
made["qwen"] = added(j, ("<|endoftext|>", PLAIN), ("<|im_start|>", PLAIN), ("<think>", TEXT))
made["o200k"] = byte_level(split(O200K))
made["punctuated"] = byte_level(split(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", PUNCTUATED))
digits = pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])
made["digits-byte-level"] = added(byte_level(digits), ("<|endoftext|>", PLAIN))
j = byte_level(pre.ByteLevel(add_prefix_space=True))
made["prefix-space"] = added(j, ("  ", TEXT), ("    ", TEXT), ("   ", TEXT), ("<|endoftext|>", PLAIN))
options = [
    ("<l>", dict(lstrip=True)),
    ("<r>", dict(rstrip=True)),
    ("<lr>", dict(lstrip=True, rstrip=True, special=False)),
    ("word", dict(single_word=True, special=False)),
    ("wor", TEXT),
    ("語", dict(single_word=True, special=False)),
    ("😀", dict(single_word=True, special=False)),
    # The library decodes these two in their normalized spelling; Wordloom as they are listed. So: special, not decoded.
    ("norm", dict(normalized=True)),
    ("café", dict(normalized=True)),
]
lower = normalizers.Sequence([normalizers.Lowercase(), normalizers.NFC()])
made["added-options"] = added(byte_level(pre.ByteLevel(add_prefix_space=False), lower), *options)

replace_blank = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
prepend = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace_blank]}
made["llama2"] = sentencepiece(None, prepend, sequence(PREFIXED)) | dict(post_processor=framed(1, "<s>"))
merged = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
runs = [("\n", TEXT), ("\n\n", TEXT), ("\n\n\n", TEXT), ("▁▁", TEXT), ("<start_of_turn>", PLAIN), ("\t", TEXT)]
made["gemma"] = added(sentencepiece(merged, replace_blank, sequence(UNPREFIXED)), *runs)
for scheme, divided in (("always", True), ("first", True), ("first", False), ("never", True)):
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": divided}
    made[f"metaspace-{scheme}-{divided}"] = added(sentencepiece(space, None, space), ("<sep>", PLAIN), ("ab", TEXT))

pieces = ["a", "b", "c", " ", "x", " b", "b ", " c", "a b", "b c", "a b c", "a "]
merges = [["b", " "], ["a", " b"], ["b ", "c"], [" ", "b"], ["a b", " c"], [" ", "c"], ["a", " "], ["a ", "b"]]
merges.append(["a ", "b c"])
made["pieces-with-blanks"] = parts(bpe(pieces, merges), decoder={"type": "Fuse"})

letters = sorted(set("".join(CORPUS) + "▁éÉσςΣßİ\u0085\ufeff\u200d"))


def words(pre_tokenizer, normalizer=None, **options):
    model = bpe([*letters, "he", "ll", "the", "<unk>"], [["h", "e"], ["l", "l"], ["t", "he"]], unk_token="<unk>", **options)
    return parts(model, pre_tokenizer=pre_tokenizer, normalizer=normalizer)


made["whitespace"] = words({"type": "Whitespace"}, {"type": "Lowercase"}, fuse_unk=True)
made["whitespace-split"] = words({"type": "WhitespaceSplit"}, {"type": "StripAccents"})
made["digits"] = words({"type": "Digits", "individual_digits": False}, {"type": "NFD"})
made["delimiter"] = words({"type": "CharDelimiterSplit", "delimiter": " "}, {"type": "Prepend", "prepend": "he"})
gaps = {"type": "Replace", "pattern": {"Regex": "\\s{2,}"}, "content": "$1 "}
lower = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, gaps]}
made["bert-words"] = words({"type": "BertPreTokenizer"}, lower)
for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
    strip = {"type": "Strip", "strip_left": True, "strip_right": behavior != "Removed"}
    made[f"punctuation-{behavior}"] = words({"type": "Punctuation", "behavior": behavior}, strip)
    pattern = {"type": "Split", "pattern": {"Regex": "(?=[A-Z])|\\s+|.e"}, "behavior": behavior, "invert": False}
    made[f"split-{behavior}"] = words(pattern, {"type": "NFKC"})
    pattern = {"type": "Split", "pattern": {"Regex": "\\w+|\\d"}, "behavior": behavior, "invert": True}
    made[f"split-inverted-{behavior}"] = words(pattern, {"type": "NFKD"})

suffixed = [letter + end for end in ("", "</w>") for letter in "abcdehlortw"]
suffixed += ["he", "ll", "ld</w>", "hell", "hello</w>", "<unk>"]
merges = [["h", "e"], ["l", "l"], ["l", "d</w>"], ["he", "ll"], ["hell", "o</w>"]]
model = bpe(suffixed, merges, end_of_word_suffix="</w>", unk_token="<unk>")
made["word-suffix"] = parts(model, pre_tokenizer={"type": "WhitespaceSplit"}, decoder={"type": "Fuse"})

scores = {"<unk>": 0, "▁": -2, "a": -3.1, "b": -3.2, "c": -3.3, "▁a": -2.9, "ab": -2.8, "abc": -4, "▁he": -4.4}
scores |= {"ll": -4.1, "l": -5, "o": -5.1, "h": -6, "e": -5.9, "😀": -7, "😀😀": -7.5, "é": -6.5, "日本": -6.6}
scores |= {"w": -5.5, "or": -4.7, "r": -5.2, "d": -5.3, "▁w": -4.2}
space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
model = {"type": "Unigram", "unk_id": 0, "vocab": [*scores.items()], "byte_fallback": False}
made["unigram"] = parts(model, pre_tokenizer=space, decoder=space)
model = {**model, "vocab": [*scores.items(), *((byte, -20) for byte in BYTES)], "byte_fallback": True}
made["unigram-bytes"] = parts(model, normalizer=replace_blank, decoder=sequence(UNPREFIXED))

pieces = "[UNK] [CLS] [SEP] he ##llo hello wor ##ld ##l ##d w ##or h a ##a ##b ! , don ' t 日 ##本 .".split()
names = {piece: i for i, piece in enumerate(pieces)}
model = dict(type="WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=20, vocab=names)
j = parts(
    model,
    normalizer={"type": "Lowercase"},
    pre_tokenizer={"type": "BertPreTokenizer"},
    decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
    post_processor={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
)
made["word-piece"] = added(j, ("[CLS]", PLAIN), ("[SEP]", PLAIN))

FRAGMENTS = """hello| world|Hello|the |  |   | |a|b|ab|abc|a b|b c|a b c| ab|don't|I'LL|we'Ve|'ſ|123|12345| 7|½|٣|naïve|café
É|日本語|日本|テスト|Привет|😀|😀😀|🦙|ﬁ|ΣΑΣ|ß|İ|word|wor|words| word |<l>|<r>|<lr>| <l> | <lr>  |NORM|norm|Café|é|x|<s>|</s>|<unk>
<sep>|<0x0A>|▁|▁▁|<|eot_id|>|<|begin_of_text|>|<|im_start|>|<|endoftext|>|<think>|<start_of_turn>|!|?!|.,|...|(a)|_|a_b|$|€
한국어|[CLS]|xyz|A|Ab|ABc|あ|I'm 12345 ok""".replace("\n", "|")
FRAGMENTS = FRAGMENTS.replace("<|", "<\0").replace("|>", "\0>").split("|")
FRAGMENTS = [fragment.replace("\0", "|") for fragment in FRAGMENTS]
FRAGMENTS += ["\n", "\n\n", "\n\n\n", "\r\n", "\t", "e\u0301", "Cafe\u0301", "\ufeff", "\u0085", "\u00a0", "\u3000", "\u2028"]
FRAGMENTS += ["👨\u200d👩\u200d👧", "\x00", "\x7f", "\u200b", "\ufffd"]

texts = ["", *FRAGMENTS, *("".join(random.choices(FRAGMENTS, k=random.randint(2, 9))) for _ in range(60))]
# The texts once, and for each tokenizer the ids and the decoded texts that are other texts.
tokenizers = []
for name, j in made.items():
    reference = Tokenizer.from_str(json.dumps(j))
    ids = [reference.encode(text).ids for text in texts]
    decoded = [reference.decode(row, skip_special_tokens=True) for row in ids]
    differing = {str(i): text for i, text in enumerate(decoded) if text != texts[i]}
    tokenizers.append(dict(name=name, tokenizer_json=j, ids=ids, decoded=differing))
with open("golden.json", "w") as file:
    json.dump(dict(texts=texts, tokenizers=tokenizers), file, ensure_ascii=True, separators=(",", ":"))
    file.write("\n")
