"""The policy editor: CodeMirror in the browser, with findings, help and completion from Python.

``src/`` holds the JavaScript, ``assets/`` what `make editor` builds from it.
"""

from drr.ui.editor.component import EditorState, editor_text, policy_editor, put_text
from drr.ui.editor.key_help import KEY_HELP, KeyHelp

__all__ = ["KEY_HELP", "EditorState", "KeyHelp", "editor_text", "policy_editor", "put_text"]
