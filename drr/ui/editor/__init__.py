"""The editor of policies and other YAML: CodeMirror in the browser, with findings, help and completion from Python.

``src/`` holds the JavaScript, ``assets/`` what `make editor` builds from it.
"""

from drr.ui.editor.component import POLICY_VOCABULARY, EditorState, editor_text, put_text, yaml_editor
from drr.ui.editor.key_help import KEY_HELP, KeyHelp

__all__ = ["KEY_HELP", "POLICY_VOCABULARY", "EditorState", "KeyHelp", "editor_text", "put_text", "yaml_editor"]
