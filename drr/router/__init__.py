"""Admission, eligibility, worker choice and drain: everything between an arrival and the worker that serves it."""
