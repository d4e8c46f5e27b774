import { lazy, Suspense, useEffect, useRef } from "react";

export interface EditorProperties {
  readonly value: string;
  readonly label: string;
  readonly onChange: (value: string) => void;
  readonly onSave: () => void;
  readonly onLeave: () => void;
}

const CodeEditor = lazy(() => import("./code_editor.tsx"));

/** An editor for Markdown. It is loaded when it is first needed; until then a plain field does the same. */
export function Editor(properties: EditorProperties) {
  return (
    <Suspense fallback={<PlainEditor {...properties} />}>
      <CodeEditor {...properties} />
    </Suspense>
  );
}

function PlainEditor({ value, label, onChange, onSave, onLeave }: EditorProperties) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  return (
    <textarea
      ref={area}
      className="editor editor-plain"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSave();
        if (event.key === "Escape") onLeave();
      }}
    />
  );
}
