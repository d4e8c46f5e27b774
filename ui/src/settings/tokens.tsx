import { useState, type FormEvent } from "react";
import { useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useMe, useApiQuery } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { CopyButton, RelativeTime } from "../components/common.tsx";
import { LoadingOrError, EmptyState, StaleNotice, ErrorMessage } from "../components/states.tsx";
import { TableScroll } from "../components/table_scroll.tsx";
import {
  CreateTokenDocument,
  RevokeTokenDocument,
  TokensDocument,
  type AccessTokenDuration,
  type AccessTokenType,
  type TokensQuery,
} from "../generated/operations.ts";
import { tokenTexts } from "../settings_texts.ts";
import { formatDate, formatDateTime } from "../time.ts";

type Token = TokensQuery["listAccessTokens"]["tokens"][number];

const PAGE_SIZE = 50;
const DEFAULT_DURATION: keyof typeof tokenTexts.durations = "THREE_MONTHS";

/** The access tokens of the current user, including those that others created for them. */
export function Tokens() {
  const me = useMe();
  const urn = me.data?.me?.corpUser.urn ?? "";
  const page = pageFromAddress(new URLSearchParams(useSearch()), PAGE_SIZE);
  const read = useApiQuery(
    TokensDocument,
    { actor: urn, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { enabled: urn !== "", keepPrevious: true },
  );
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const canCreate = me.data?.me?.platformPrivileges.generatePersonalAccessTokens === true;
  const found = read.data?.listAccessTokens;
  return (
    <>
      <div className="section-header">
        <p className="hint">{tokenTexts.intro}</p>
        {canCreate && (
          <button type="button" onClick={() => setCreating(true)}>
            {tokenTexts.create}
          </button>
        )}
      </div>
      {!canCreate && me.isSuccess && <p className="notice">{tokenTexts.notAllowed}</p>}
      {found === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {found?.total === 0 && <EmptyState title={tokenTexts.none} hint={tokenTexts.noneHint} />}
      {found !== undefined && found.tokens.length > 0 && (
        <TokenTable tokens={found.tokens} onRevoke={setRevoking} />
      )}
      {found !== undefined && (
        <Pagination page={page} size={PAGE_SIZE} total={found.total} addressOf={addresses.tokens} />
      )}
      {isCreating && (
        <NewTokenDialog
          actor={urn}
          others={found?.tokens ?? []}
          onClose={() => setCreating(false)}
        />
      )}
      {revoking !== null && <RevokeDialog token={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

function TokenTable({
  tokens,
  onRevoke,
}: {
  readonly tokens: readonly Token[];
  readonly onRevoke: (token: Token) => void;
}) {
  return (
    <TableScroll>
      <table className="data-table stacked">
        <thead>
          <tr>
            <th scope="col">{tokenTexts.columns.name}</th>
            <th scope="col">{tokenTexts.columns.created}</th>
            <th scope="col">{tokenTexts.columns.expires}</th>
            <th scope="col">{tokenTexts.columns.lastUsed}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <th scope="row">{token.name}</th>
              <td data-label={tokenTexts.columns.created}>
                <RelativeTime time={token.createdAt} />
              </td>
              <td data-label={tokenTexts.columns.expires}>{expirationOf(token)}</td>
              <td data-label={tokenTexts.columns.lastUsed}>
                {typeof token.lastUsedAt === "number" ? (
                  <RelativeTime time={token.lastUsedAt} />
                ) : (
                  tokenTexts.never
                )}
              </td>
              <td className="row-actions">
                <button
                  type="button"
                  className="subtle"
                  aria-label={tokenTexts.revokeLabel(token.name, formatDateTime(token.createdAt))}
                  onClick={() => onRevoke(token)}
                >
                  {tokenTexts.revoke}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** When a token expires, or that it has. */
export function expirationOf(token: { readonly expiresAt: number | null }): string {
  if (token.expiresAt === null || token.expiresAt === undefined) return tokenTexts.never;
  return token.expiresAt < Date.now() ? tokenTexts.expired : formatDate(token.expiresAt);
}

interface NewTokenProperties {
  readonly actor: string;
  /** The tokens whose names would be confusing. */
  readonly others: readonly Pick<Token, "name">[];
  readonly type?: AccessTokenType;
  readonly onClose: () => void;
}

/** Creates an access token, and shows its value once. */
export function NewTokenDialog({ actor, others, type = "PERSONAL", onClose }: NewTokenProperties) {
  const [typed, setTyped] = useState("");
  const isUsed = others.some((other) => other.name === typed.trim());
  const create = useApiMutation(CreateTokenDocument);
  const [error, setError] = useState<string | null>(null);
  const secret = create.data?.createAccessToken?.accessToken;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get("name")).trim();
    setError(name === "" ? tokenTexts.nameMissing : null);
    if (name !== "")
      create.mutate({ type, actor, name, duration: form.get("duration") as AccessTokenDuration });
  };
  return (
    <Dialog title={tokenTexts.create} isOpen onClose={onClose}>
      {secret === undefined ? (
        <form className="form" onSubmit={submit}>
          <label>
            {tokenTexts.name}
            <input
              name="name"
              ref={focusOnMount}
              onChange={(event) => setTyped(event.target.value)}
              aria-invalid={error !== null}
              aria-describedby="token-hint"
            />
            <span className="hint" id="token-hint">
              {tokenTexts.nameHint}
            </span>
            <span className="field-error" role="alert">
              {error}
            </span>
            <span className="hint warning" role="status">
              {isUsed && tokenTexts.nameUsed(typed.trim())}
            </span>
          </label>
          <label>
            {tokenTexts.expiration}
            <select name="duration" defaultValue={DEFAULT_DURATION}>
              {Object.entries(tokenTexts.durations).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          {create.error !== null && <ErrorMessage error={create.error} />}
          <div className="dialog-actions">
            <button type="button" onClick={onClose}>
              {tokenTexts.cancel}
            </button>
            <button type="submit" className="primary" disabled={create.isPending}>
              {tokenTexts.createButton}
            </button>
          </div>
        </form>
      ) : (
        <>
          <p role="status">{tokenTexts.shownOnce}</p>
          <p className="secret">
            <code aria-label={tokenTexts.secret} data-testid="secret">
              {secret}
            </code>
            <CopyButton text={secret} label={tokenTexts.copy} />
          </p>
          <div className="dialog-actions">
            <button type="button" className="primary" onClick={onClose}>
              {tokenTexts.done}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}

export function RevokeDialog({
  token,
  onClose,
}: {
  readonly token: Pick<Token, "id" | "name">;
  readonly onClose: () => void;
}) {
  const revoke = useApiMutation(RevokeTokenDocument);
  return (
    <Dialog title={tokenTexts.revokeTitle(token.name)} isOpen onClose={onClose}>
      <p>{tokenTexts.revokeBody}</p>
      {revoke.error !== null && <ErrorMessage error={revoke.error} />}
      <div className="dialog-actions">
        <button type="button" onClick={onClose}>
          {tokenTexts.cancel}
        </button>
        <button
          type="button"
          className="dangerous"
          disabled={revoke.isPending}
          onClick={() => revoke.mutate({ id: token.id }, { onSuccess: onClose })}
        >
          {tokenTexts.revoke}
        </button>
      </div>
    </Dialog>
  );
}
