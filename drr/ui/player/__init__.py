"""The player: the stage in the browser, with transport bar, explanation, log and timelines, without a server rerun.

``component`` shows it on a page; ``pack`` makes the blob the browser gets once per run, and knows nothing of Streamlit;
``assets/`` holds the JavaScript that plays it.
"""
