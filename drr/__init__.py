"""Ringside: run, watch and explain Deficit Round Robin in an LLM router."""

__version__ = "0.1.0"
