import { useState } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { RelativeTime } from "../components/common.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import {
  OpenInvitationsDocument,
  RevokeInvitationDocument,
  type OpenInvitationsQuery,
} from "../generated/operations.ts";
import { nameOf } from "../names.ts";
import { InviteDialog } from "../settings/link_dialogs.tsx";
import { adminTexts } from "../admin_texts.ts";
import { accountTexts } from "../account_texts.ts";
import { formatDateTime } from "../time.ts";
import { AdminTable, ConfirmDialog } from "./common.tsx";

type Invitation = OpenInvitationsQuery["listInviteTokens"][number];

const roleOf = ({ role }: Invitation) => role?.name ?? adminTexts.invitations.noRole;

/** The invite links that work. */
export default function Invitations() {
  const words = adminTexts.invitations;
  const read = useApiQuery(OpenInvitationsDocument, {});
  const revoke = useApiMutation(RevokeInvitationDocument);
  const [isInviting, setInviting] = useState(false);
  const [revoking, setRevoking] = useState<Invitation | null>(null);
  const [isRevoked, setRevoked] = useState(false);
  const invitations = read.data?.listInviteTokens;
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <button type="button" className="primary" onClick={() => setInviting(true)}>
          {accountTexts.invite.open}
        </button>
      </div>
      {invitations === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      <p className="hint" role="status">
        {isRevoked && words.revoked}
      </p>
      {invitations?.length === 0 && <EmptyState title={words.none} hint={words.noneHint} />}
      {invitations !== undefined && invitations.length > 0 && (
        <AdminTable columns={words.columns}>
          {invitations.map((invitation) => (
            <tr key={invitation.urn}>
              <th scope="row">{roleOf(invitation)}</th>
              <td data-label={words.columns.created}>
                <RelativeTime time={invitation.createdAt} />
              </td>
              <td data-label={words.columns.by}>
                {invitation.createdBy !== null && nameOf(invitation.createdBy)}
              </td>
              <td data-label={words.columns.expires}>{formatDateTime(invitation.expiresAt)}</td>
              <td className="row-actions">
                <button
                  type="button"
                  className="subtle"
                  aria-label={words.revokeLabel(roleOf(invitation))}
                  onClick={() => {
                    revoke.reset();
                    setRevoked(false);
                    setRevoking(invitation);
                  }}
                >
                  {words.revoke}
                </button>
              </td>
            </tr>
          ))}
        </AdminTable>
      )}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
      {revoking !== null && (
        <ConfirmDialog
          title={words.revokeTitle(roleOf(revoking))}
          button={words.revoke}
          isBusy={revoke.isPending}
          error={revoke.error}
          onConfirm={() =>
            revoke.mutate(
              { urn: revoking.urn },
              {
                onSuccess: () => {
                  setRevoking(null);
                  setRevoked(true);
                },
              },
            )
          }
          onClose={() => setRevoking(null)}
        >
          <p>{words.revokeBody}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
