"""What a run means: shares, waits, figures of merit, explanations."""
