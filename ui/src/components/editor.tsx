import { useEffect, useRef, useState, type ComponentType } from "react";

export interface EditorProperties {
  readonly value: string;
  readonly label: string;
  /** Markdown unless given. */
  readonly language?: "markdown" | "yaml";
  readonly onChange: (value: string) => void;
  readonly onSave: () => void;
  readonly onCancel: () => void;
}

let loaded: ComponentType<EditorProperties> | null = null;

/** Preloads the editor. If that fails, the plain text area is used. */
export async function loadEditor(): Promise<ComponentType<EditorProperties> | null> {
  try {
    loaded ??= (await import("./code_editor.tsx")).default;
  } catch {
    return null;
  }
  return loaded;
}

/** A text editor. Shows a plain text area until CodeMirror is loaded, and keeps it once the
 *  user has started typing: swapping editors would lose keystrokes. */
export function Editor(properties: EditorProperties) {
  const [Loaded, setLoaded] = useState(() => loaded);
  const hasStarted = useRef(false);
  useEffect(() => {
    void loadEditor().then((editor) => {
      if (editor !== null && !hasStarted.current) setLoaded(() => editor);
    });
  }, []);
  if (Loaded !== null) return <Loaded {...properties} />;
  return <PlainEditor {...properties} onStart={() => (hasStarted.current = true)} />;
}

type PlainProperties = EditorProperties & { readonly onStart: () => void };

function PlainEditor({ value, label, onChange, onSave, onCancel, onStart }: PlainProperties) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  return (
    <textarea
      dir="auto"
      ref={area}
      className="editor editor-plain"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        onStart();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSave();
        if (event.key === "Escape") onCancel();
      }}
    />
  );
}
