"""Reading a policy text: from characters to a :class:`PolicyDocument`, with every problem found on the way.

The text is read the way the router reads it (YAML 1.2, typed fields that convert nothing), so that a file accepted
here is accepted there; where that is not so, a diagnostic marked ``router_refuses`` says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drr.errors import PolicyError
from drr.policy import profiles, sections, yaml12
from drr.policy.diagnostics import Diagnostic, Position, joined, quoted
from drr.policy.fields import Field, FieldReader, Given, TooManyProblemsError, code_list, described
from drr.policy.lint import lint_policy
from drr.policy.schema import PolicyDocument, Profile
from drr.policy.source_text import readable_text
from drr.policy.yaml_events import YamlSyntaxError

_START = Position(1, 1, 1, 1)
_NOTHING = "the policy is empty: it has neither a profile nor a section"
_ONE_OF = "a root profile (`default_policy_family`, `uncached_isl_buckets`, `policy_classes`), `models` or a section"


@dataclass(frozen=True, slots=True)
class PolicyReading:
    """What came of reading one text. ``document`` is None where there is at least one error.

    ``diagnostics`` are in file order. ``positions`` says where the value at a path stands, such as
    ``policy_classes[0].quantum``, so that it can be marked or replaced in the text.
    """

    source: str
    document: PolicyDocument | None
    diagnostics: tuple[Diagnostic, ...]
    positions: Mapping[str, Position] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the policy can be used."""
        return self.document is not None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that keep the policy from being used."""
        return tuple(each for each in self.diagnostics if each.severity == "error")

    @property
    def router_accepts(self) -> bool:
        """Whether the router of release 1.6.1 takes the file as well."""
        return self.ok and not any(each.router_refuses for each in self.diagnostics)


def read_policy(text: str | bytes, *, source: str = "policy") -> PolicyReading:
    """Read a whole policy file. ``source`` names it in :class:`PolicyError`; bad text is a result, not an exception."""
    clean, notes = readable_text(text)
    if clean is None:
        return PolicyReading(source, None, tuple(notes))
    reader = FieldReader(list(notes))
    document = None
    try:
        root = yaml12.compose(clean)
        document = _read_document(reader, root)
        if document is not None:
            for warning in lint_policy(document, positions=reader.positions):
                reader.add(warning)
    except YamlSyntaxError as error:
        found = Diagnostic("error", error.line, error.column, "", error.message, error.allowed, error.suggestion)
        reader.diagnostics.append(found)
    except TooManyProblemsError:
        document = None
    return PolicyReading(source, document, reader.finished(), reader.positions)


def load_policy(text: str | bytes, *, source: str = "policy") -> PolicyDocument:
    """The document in ``text``; raises :class:`PolicyError` with all diagnostics where there is an error."""
    reading = read_policy(text, source=source)
    if reading.document is not None:
        return reading.document
    errors = reading.errors
    count = "1 error" if len(errors) == 1 else f"{len(errors):,} errors"
    lines = "\n".join(each.text(source) for each in errors)
    raise PolicyError(f"{source} has {count}:\n{lines}", reading.diagnostics)


def _models(reader: FieldReader, node: yaml12.Node, path: str) -> dict[str, Given | None] | None:
    """The profiles by model name. The last of a repeated name counts, but the earlier ones must parse all the same."""
    pairs = reader.pairs(node, path, "`models`")
    if pairs is None:
        return None
    last = {key.text: index for index, (key, _) in enumerate(pairs)}
    models: dict[str, Given | None] = {}
    for index, (key, value) in enumerate(pairs):
        inner = joined(path, key.text)
        reader.positions[inner] = value.position
        reader.replaced = index != last[key.text]
        if reader.replaced:
            line = pairs[last[key.text]][0].position.line
            message = f"the model {quoted(key.text)} comes again on line {line}, and the last one counts"
            reader.note("warning", key.position, inner, message)
        if not key.text:
            reader.refuse(key.position, inner, "the model name is empty", "the exact name the model is served under")
        given = reader.struct(value, inner, profiles.PROFILE_FIELDS, "a model profile")
        if not reader.replaced:
            models[key.text] = given
    return models


_ROOT_FIELDS = {
    **{name: Field(spec.read, required=False, nullable=True) for name, spec in profiles.PROFILE_FIELDS.items()},
    "models": Field(_models, required=False),
    **sections.SECTION_FIELDS,
}


def _read_document(reader: FieldReader, root: yaml12.Node | None) -> PolicyDocument | None:
    if root is None:
        reader.error(_START, "", _NOTHING, _ONE_OF)
        return None
    if not isinstance(root, yaml12.Mapping) and not (isinstance(root, yaml12.Scalar) and root.plain and not root.text):
        message = f"the top level must be a mapping, but {described(root)}"
        reader.error(root.position, "", message, "`key: value` lines")
        return None
    given = reader.struct(root, "", _ROOT_FIELDS, "the policy file")
    if given is None:
        return None
    profile = _root_profile(reader, given)
    models = {
        name: None if each is None else profiles.resolve_profile(reader, each)
        for name, each in given.values.get("models", {}).items()
    }
    kept = {name: given.values[name] for name in sections.SECTION_FIELDS if name in given.values}
    if any(each.severity == "error" for each in reader.diagnostics):
        return None
    if profile is None and not models and not kept:
        reader.error(root.position, "", _NOTHING, _ONE_OF)
        return None
    for name in kept:
        reader.note("info", reader.positions[name], name, f"the section `{name}` is kept, but not simulated")
    return PolicyDocument(profile, {name: each for name, each in models.items() if each is not None}, kept)


def _root_profile(reader: FieldReader, given: Given) -> Profile | None:
    """The root profile; its three keys come together or not at all."""
    present = [key for key in profiles.PROFILE_FIELDS if key in given.values or key in given.broken]
    absent = [key for key in profiles.PROFILE_FIELDS if key not in present]
    if not present:
        return None
    if absent:
        at = reader.positions.get(present[0], given.position)
        message = f"the root profile has {code_list(present)}, but not {code_list(absent)}"
        reader.error(at, present[0], message, "all three keys of the root profile, or none of them")
        given.broken.update(absent)
    return profiles.resolve_profile(reader, given)
