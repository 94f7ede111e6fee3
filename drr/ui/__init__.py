"""Streamlit glue: components, session state, background runs and widgets."""
