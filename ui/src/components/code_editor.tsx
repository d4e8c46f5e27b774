import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { markdown } from "@codemirror/lang-markdown";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useLayoutEffect, useRef } from "react";

import type { EditorProperties } from "./editor.tsx";

const highlighting = HighlightStyle.define([
  { tag: tags.heading, fontWeight: "600" },
  { tag: tags.strong, fontWeight: "600" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.link, tags.url], color: "var(--accent)" },
  {
    tag: [tags.monospace, tags.processingInstruction, tags.contentSeparator],
    color: "var(--text-muted)",
  },
]);

/** CodeMirror, in a chunk of its own that is loaded on demand. */
export default function CodeEditor({
  value,
  label,
  language = "markdown",
  onChange,
  onSave,
  onCancel,
}: EditorProperties) {
  const container = useRef<HTMLDivElement>(null);
  // The editor is created once and calls the latest handlers.
  const current = useRef({ onChange, onSave, onCancel });
  current.current = { onChange, onSave, onCancel };
  // A layout effect, so that the editor is ready before the next keystroke.
  useLayoutEffect(() => {
    if (container.current === null) return;
    const act = (name: "onSave" | "onCancel") => () => {
      current.current[name]();
      return true;
    };
    const editor = new EditorView({
      parent: container.current,
      state: EditorState.create({
        doc: value,
        selection: { anchor: value.length },
        extensions: [
          history(),
          language === "markdown"
            ? [
                markdown(),
                syntaxHighlighting(highlighting),
                EditorView.perLineTextDirection.of(true),
              ]
            : indentUnit.of("  "),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            "aria-label": label,
            dir: language === "markdown" ? "auto" : "ltr",
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) current.current.onChange(update.state.doc.toString());
          }),
          keymap.of([
            { key: "Mod-Enter", run: act("onSave") },
            { key: "Escape", run: act("onCancel") },
            ...defaultKeymap,
            ...historyKeymap,
          ]),
        ],
      }),
    });
    editor.focus();
    return () => editor.destroy();
    // No dependencies: `value` is only the initial text, after which the editor owns it. Feeding it
    // back would drop keystrokes.
  }, []);

  return <div className="editor" ref={container} />;
}
