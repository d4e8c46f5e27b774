import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { markdown } from "@codemirror/lang-markdown";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
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
  { tag: [tags.monospace, tags.processingInstruction, tags.contentSeparator], color: "var(--quiet)" },
]);

/** CodeMirror, as one file that is loaded on demand. */
export default function CodeEditor({ value, label, onChange, onSave, onLeave }: EditorProperties) {
  const place = useRef<HTMLDivElement>(null);
  // The editor is made once; it calls whatever the newest properties say.
  const current = useRef({ onChange, onSave, onLeave });
  current.current = { onChange, onSave, onLeave };
  // Before the next letter can be typed.
  useLayoutEffect(() => {
    if (place.current === null) return;
    const act = (name: "onSave" | "onLeave") => () => {
      current.current[name]();
      return true;
    };
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: value,
        selection: { anchor: value.length },
        extensions: [
          history(),
          markdown(),
          syntaxHighlighting(highlighting),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) current.current.onChange(update.state.doc.toString());
          }),
          keymap.of([
            { key: "Mod-Enter", run: act("onSave") },
            { key: "Escape", run: act("onLeave") },
            ...defaultKeymap,
            ...historyKeymap,
          ]),
        ],
      }),
    });
    editor.focus();
    // The text of the beginning is meant: from here on the editor has the newest, and gives no keystroke away by being told
    // what it said a moment ago.
    return () => editor.destroy();
  }, []);

  return <div className="editor" ref={place} />;
}
