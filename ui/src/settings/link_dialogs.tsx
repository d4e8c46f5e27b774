// Invite links and reset links, for administrators.

import { useEffect, type FormEvent } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { CopyButton } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { ErrorMessage } from "../components/states.tsx";
import {
  CreateInviteTokenDocument,
  CreateResetTokenDocument,
  RolesDocument,
} from "../generated/operations.ts";
import { accountTexts } from "../account_texts.ts";

/** Creates an invite link for a role. */
export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const roles = useApiQuery(RolesDocument, {});
  const create = useApiMutation(CreateInviteTokenDocument);
  const token = create.data?.createInviteToken?.inviteToken;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const role = String(new FormData(event.currentTarget).get("role"));
    create.mutate({ role: role === "" ? null : role });
  };
  return (
    <Dialog title={accountTexts.invite.open} isOpen onClose={onClose}>
      {token === undefined ? (
        <form className="form" onSubmit={submit}>
          <label>
            {accountTexts.invite.role}
            <select name="role" ref={focusOnMount}>
              <option value="">{accountTexts.invite.noRole}</option>
              {roles.data?.listRoles?.roles.map((role) => (
                <option key={role.urn} value={role.urn}>
                  {role.name}
                </option>
              ))}
            </select>
          </label>
          {create.error !== null && <ErrorMessage error={create.error} />}
          <div className="dialog-actions">
            <button type="button" onClick={onClose}>
              {accountTexts.invite.cancel}
            </button>
            <button type="submit" className="primary" disabled={create.isPending}>
              {accountTexts.invite.create}
            </button>
          </div>
        </form>
      ) : (
        <Link
          hint={accountTexts.invite.shownOnce}
          label={accountTexts.invite.link}
          address={`/signup?invite_token=${token}`}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

interface ResetProperties {
  readonly user: { readonly urn: string; readonly name: string };
  readonly onClose: () => void;
}

/** Creates a reset link for a user when it opens. */
export function ResetDialog({ user, onClose }: ResetProperties) {
  const create = useApiMutation(CreateResetTokenDocument);
  const { mutate } = create;
  useEffect(() => mutate({ user: user.urn }), [mutate, user.urn]);
  const token = create.data?.createNativeUserResetToken?.resetToken;
  return (
    <Dialog title={accountTexts.resetLink.title(user.name)} isOpen onClose={onClose}>
      {create.error !== null && <ErrorMessage error={create.error} />}
      {token !== undefined && (
        <Link
          hint={accountTexts.resetLink.shownOnce}
          label={accountTexts.resetLink.link}
          address={`/reset?reset_token=${token}`}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

interface LinkProperties {
  readonly hint: string;
  readonly label: string;
  readonly address: string;
  readonly onClose: () => void;
}

function Link({ hint, label, address, onClose }: LinkProperties) {
  const link = `${window.location.origin}${address}`;
  return (
    <>
      <p role="status">{hint}</p>
      <p className="secret">
        <code aria-label={label} data-testid="secret">
          {link}
        </code>
        <CopyButton text={link} label={accountTexts.invite.copy} />
      </p>
      <div className="dialog-actions">
        <button type="button" className="primary" onClick={onClose}>
          {accountTexts.invite.done}
        </button>
      </div>
    </>
  );
}
