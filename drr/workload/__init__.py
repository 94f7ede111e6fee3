"""Where requests come from: traces, typed text, generators, scenarios."""
