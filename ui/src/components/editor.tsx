import { useEffect, useRef, useState, type ComponentType } from "react";

export interface EditorProperties {
  readonly value: string;
  readonly label: string;
  readonly onChange: (value: string) => void;
  readonly onSave: () => void;
  readonly onLeave: () => void;
}

let loaded: ComponentType<EditorProperties> | null = null;

/** Fetches the editor, so that it is there when it is opened. Where that fails the plain field does. */
export async function loadEditor(): Promise<ComponentType<EditorProperties> | null> {
  try {
    loaded ??= (await import("./code_editor.tsx")).default;
  } catch {
    return null;
  }
  return loaded;
}

/** An editor for Markdown. It is loaded when it is first needed; until then a plain field does the same. Whoever has begun to
 *  type there goes on there: a field that is replaced under one's fingers loses letters. */
export function Editor(properties: EditorProperties) {
  const [Loaded, setLoaded] = useState(() => loaded);
  const hasBegun = useRef(false);
  useEffect(() => {
    void loadEditor().then((editor) => {
      if (editor !== null && !hasBegun.current) setLoaded(() => editor);
    });
  }, []);
  if (Loaded !== null) return <Loaded {...properties} />;
  return <PlainEditor {...properties} onBegin={() => (hasBegun.current = true)} />;
}

type PlainProperties = EditorProperties & { readonly onBegin: () => void };

function PlainEditor({ value, label, onChange, onSave, onLeave, onBegin }: PlainProperties) {
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
        onBegin();
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSave();
        if (event.key === "Escape") onLeave();
      }}
    />
  );
}
