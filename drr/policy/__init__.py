"""Policy files: what they may say, how they are read, checked and written back."""

from drr.policy.diagnostics import Diagnostic, Position
from drr.policy.lint import lint_policy, lint_profile, lint_workload
from drr.policy.reading import PolicyReading, load_policy, read_policy
from drr.policy.schema import CacheBucket, PolicyClass, PolicyDocument, Profile, synthetic_profile
from drr.policy.writing import dump_policy

__all__ = [
    "CacheBucket",
    "Diagnostic",
    "PolicyClass",
    "PolicyDocument",
    "PolicyReading",
    "Position",
    "Profile",
    "dump_policy",
    "lint_policy",
    "lint_profile",
    "lint_workload",
    "load_policy",
    "read_policy",
    "synthetic_profile",
]
