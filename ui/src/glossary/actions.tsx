import { useState } from "react";
import { useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { GlossaryDialogs, type GlossaryAction } from "./dialogs.tsx";
import { useGlossary } from "./hierarchy.ts";
import { GlossaryMenu } from "./menu.tsx";

/** The menu on the page of a term or of a group of terms. */
export function GlossaryActions({ urn }: { readonly urn: string }) {
  const { glossary } = useGlossary();
  const [action, setAction] = useState<GlossaryAction | null>(null);
  const [, navigate] = useLocation();
  const entry = glossary?.byUrn.get(urn);
  if (glossary === undefined || entry === undefined) return null;
  return (
    <>
      <GlossaryMenu entry={entry} onAction={setAction} />
      <GlossaryDialogs
        action={action}
        glossary={glossary}
        onClose={() => setAction(null)}
        onCreated={(created) => navigate(addresses.entity(created))}
        onDeleted={() => navigate(addresses.glossary)}
      />
    </>
  );
}
