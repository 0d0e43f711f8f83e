"""Decoded chat text to turns: what trainers dump as flat prompt and response.

Trainers decode token ids to text, with the special tokens kept or dropped, so a conversation has to be
found again in its text. Spellings read here (formats of the templates and of verl's own tool parsers):
Qwen/Hermes, Qwen3-Coder/Qwen3.5/Nemotron XML, GLM, Llama 3, DeepSeek V3 and V4, gpt-oss, Gemma 4, LFM2,
Kimi K2, MiniMax, Seed, and SWE-smith's bare ``<function=…>`` text.

Everything is linear in the text's length and a pure function of it.
"""

from __future__ import annotations

from trajlab.formats._chat_text.calls import AgentText, calls_in_text, read_agent_text
from trajlab.formats._chat_text.conversation import Conversation, parse_conversation, parse_response
from trajlab.formats._chat_text.prompts import parse_prompt, tools_in_prompt

__all__ = [
    "AgentText",
    "Conversation",
    "calls_in_text",
    "parse_conversation",
    "parse_prompt",
    "parse_response",
    "read_agent_text",
    "tools_in_prompt",
]
