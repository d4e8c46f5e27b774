// What is asked before an account is suspended, signed out or deleted.

import { useState } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { LoadingOrError } from "../components/states.tsx";
import {
  BelongingsDocument,
  EndSessionsDocument,
  RemoveUserDocument,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { adminTexts } from "../admin_texts.ts";
import { Impact } from "../components/impact.tsx";
import { ConfirmDialog, Warning } from "./common.tsx";
import type { Person } from "./people.tsx";

interface SuspendProperties {
  readonly person: Person;
  readonly isSelf: boolean;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function SuspendDialog({ person, isSelf, ...dialog }: SuspendProperties) {
  const words = adminTexts.people;
  return (
    <ConfirmDialog
      title={words.suspendTitle(nameOf(person))}
      button={words.suspendButton}
      {...dialog}
    >
      <p>{words.suspendBody}</p>
      {isSelf && <Warning>{words.suspendSelf}</Warning>}
    </ConfirmDialog>
  );
}

interface DialogProperties {
  readonly person: Person;
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
}

export function RemoveDialog({
  person,
  isSelf,
  onDone,
  onClose,
}: DialogProperties & { readonly isSelf: boolean }) {
  const words = adminTexts.people;
  const read = useApiQuery(BelongingsDocument, { urn: person.urn });
  const remove = useApiMutation(RemoveUserDocument);
  const owned = read.data?.searchAcrossEntities?.total ?? 0;
  return (
    <ConfirmDialog
      title={words.removeTitle(nameOf(person))}
      button={words.removeButton}
      isBusy={remove.isPending || read.data === undefined}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(
          { urn: person.urn },
          {
            onSuccess: () => {
              onDone(words.removed(nameOf(person)));
              onClose();
            },
          },
        )
      }
      onClose={onClose}
    >
      <p>{words.removeBody}</p>
      {isSelf && <Warning>{words.removeSelf}</Warning>}
      {read.data === undefined ? (
        <LoadingOrError read={read} lines={1} />
      ) : (
        <Impact sentences={[owned === 0 ? words.ownsNothing : words.owned(owned)]} />
      )}
    </ConfirmDialog>
  );
}

export function SignOutDialog({ person, onDone, onClose }: DialogProperties) {
  const words = adminTexts.people;
  const end = useApiMutation(EndSessionsDocument);
  const [revokeTokens, setRevokeTokens] = useState(false);
  return (
    <ConfirmDialog
      title={words.signOutTitle(nameOf(person))}
      button={words.signOutButton}
      isBusy={end.isPending}
      error={end.error}
      onConfirm={() =>
        end.mutate(
          { urn: person.urn, revokeTokens },
          {
            onSuccess: () => {
              onDone(words.signedOut(nameOf(person)));
              onClose();
            },
          },
        )
      }
      onClose={onClose}
    >
      <p>{words.signOutBody}</p>
      <label className="choice">
        <input
          type="checkbox"
          checked={revokeTokens}
          onChange={(event) => setRevokeTokens(event.target.checked)}
        />
        {words.signOutTokens}
      </label>
    </ConfirmDialog>
  );
}
