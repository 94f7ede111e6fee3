"""Random policy documents with names no human would choose."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from drr.policy import CacheBucket, PolicyClass, PolicyDocument, Profile
from drr.policy.schema import MAX_UNSIGNED

ODD_NAMES = ["no", "on", "y", "null", "true", "1.5", "0x1F", "1e3", "-", ".", "-a", ".inf", "2026-11-29", "007", "_"]
names = st.sampled_from(ODD_NAMES) | st.text(string.ascii_letters + string.digits + "_.-", min_size=1, max_size=12)
tokens = st.integers(0, MAX_UNSIGNED)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    [*ODD_NAMES, "~", "a: b", "#", "<<"]
)


@st.composite
def class_options(draw: st.DrawFn) -> dict[str, object]:
    """Everything of a class that does not tie it to other classes."""
    options: dict[str, object] = {
        "quantum": draw(st.integers(1, MAX_UNSIGNED)),
        "queue_policy": draw(st.sampled_from(["fcfs", "wspt"])),
        "prefill_busy_threshold": draw(st.none() | tokens),
        "prefill_busy_threshold_frac": draw(st.none() | st.floats(0, allow_infinity=False)),
        "request_queue_limit_per_worker": draw(st.none() | tokens),
        "raw_isl_token_queue_limit_per_worker": draw(st.none() | tokens),
        "cached_token_queue_limit_per_worker": draw(st.none() | tokens),
    }
    if options["prefill_busy_threshold"] is not None:
        options["busy_worker_ratio"] = draw(st.none() | st.floats(0, 1, exclude_min=True))
    if options["prefill_busy_threshold_frac"] == 0:
        options["prefill_busy_threshold_frac"] = 0.0  # -0.0 is read as 0.0
    return options


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """A valid profile: a complete matrix, some explicit classes, in any order."""
    families = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    floors = [0, *sorted(draw(st.sets(st.integers(1, MAX_UNSIGNED), max_size=2)))]
    bucket_names = draw(st.lists(names, min_size=len(floors), max_size=len(floors), unique=True))
    pairs = [(family, bucket) for family in families for bucket in bucket_names]
    count = len(pairs) + draw(st.integers(0, 2))
    class_names = draw(
        st.lists(names.filter(lambda name: name not in families), min_size=count, max_size=count, unique=True)
    )
    bindings = [*pairs, *[(None, None)] * (count - len(pairs))]
    classes = [
        PolicyClass(name, policy_family=family, cache_bucket=bucket, **draw(class_options()))  # type: ignore[arg-type]
        for name, (family, bucket) in zip(class_names, bindings, strict=True)
    ]
    buckets = tuple(CacheBucket(floor, name) for floor, name in zip(floors, bucket_names, strict=True))
    return Profile(draw(st.sampled_from(families)), buckets, tuple(draw(st.permutations(classes))))


scalars = st.none() | st.booleans() | st.integers(-(2**63), MAX_UNSIGNED) | st.floats(allow_nan=False) | texts
data = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
sections = st.fixed_dictionaries(
    {},
    optional={
        "router": st.dictionaries(texts, data, max_size=3),
        "worker_selection": st.fixed_dictionaries(
            {"aggregated": st.just("default")},
            optional={
                "instances": st.lists(
                    st.fixed_dictionaries(
                        {"name": names.filter(lambda name: name != "default"), "type": names},
                        optional={"parameters": st.dictionaries(texts, data, max_size=2)},
                    ),
                    max_size=2,
                    unique_by=lambda each: str(each["name"]),
                )
            },
        ),
        "request_classifier": st.fixed_dictionaries(
            {"type": names.filter(lambda name: name != "default")},
            optional={
                "parameters": st.dictionaries(
                    scalars.filter(lambda key: not isinstance(key, bool | int | float)), data, max_size=3
                )
            },
        ),
    },
)
model_names = texts.filter(bool) | st.text("k", min_size=1000, max_size=1500)
documents = st.builds(
    PolicyDocument,
    root=st.none() | profiles(),
    models=st.dictionaries(model_names, profiles(), max_size=2),
    sections=sections,
).filter(lambda document: document.root is not None or document.models or document.sections)
