import { useState } from "react";

import { useApiMutation } from "../api/cache.ts";
import { EntityLink } from "../components/common.tsx";
import { ErrorMessage } from "../components/states.tsx";
import { DomainPicker } from "../domains/picker.tsx";
import {
  SetDomainDocument,
  UnsetDomainDocument,
  type DomainPartFragment,
} from "../generated/operations.ts";
import { wordsFor, type Right } from "../privileges.ts";
import { PendingMark } from "../proposals/pending.tsx";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";
import { RailSection } from "./section.tsx";

/** The domain of an entity with its ancestors, and how to change it. */
export function DomainSection({
  urn,
  domain,
  right,
}: {
  readonly urn: string;
  readonly domain: DomainPartFragment["domain"] | undefined;
  readonly right: Right;
}) {
  const words = wordsFor(right, texts.domainPicker, proposingTexts.domainPicker);
  const [isPicking, setPicking] = useState(false);
  const set = useApiMutation(SetDomainDocument);
  const unset = useApiMutation(UnsetDomainDocument);
  const error = set.error ?? unset.error;
  const path = [...(domain?.parentDomains?.domains ?? [])].reverse();
  const closePicker = () => {
    setPicking(false);
    // Clear the error of the previous attempt.
    set.reset();
    unset.reset();
  };
  const pick = (picked: string) => {
    closePicker();
    if (picked !== domain?.urn) set.mutate({ urn, domain: picked });
  };
  const remove = () => {
    closePicker();
    unset.mutate({ urn });
  };
  return (
    <RailSection
      id="domain"
      heading={texts.dataset.domain}
      add={
        right !== "none"
          ? {
              label: domain === undefined ? words.set : words.edit,
              icon: domain === undefined ? "add" : "edit",
              onClick: () => setPicking(true),
            }
          : undefined
      }
    >
      {domain === undefined ? (
        <p className="hint">{texts.rail.noDomain}</p>
      ) : (
        <ol className="breadcrumb">
          {[...path, domain].map((part) => (
            <li key={part.urn}>
              <EntityLink entity={part} />
            </li>
          ))}
        </ol>
      )}
      <PendingMark urn={urn} part="domain" />
      {error !== null && <ErrorMessage error={error} />}
      <DomainPicker
        title={words.title}
        isOpen={isPicking}
        onClose={() => setPicking(false)}
        current={domain?.urn}
        onPick={pick}
        none={domain === undefined ? undefined : { label: words.remove, onPick: remove }}
      />
    </RailSection>
  );
}
