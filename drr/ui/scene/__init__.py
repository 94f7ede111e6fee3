"""The demonstration's player: a picture that follows simulated time in the browser, with captions at its moments."""
