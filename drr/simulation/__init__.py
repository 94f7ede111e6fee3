"""Worker models, the event loop, and the recording of a run."""
