import { useState, type FormEvent } from "react";
import { useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useChange, useMe, useRead } from "../api/cache.ts";
import { Dialog } from "../components/dialog.tsx";
import { focusAtFirst } from "../components/focus.ts";
import { Pages, pageOf } from "../components/pages.tsx";
import { CopyButton, Moment } from "../components/small.tsx";
import { Awaited, Empty, Outdated, Problem } from "../components/states.tsx";
import {
  CreateTokenDocument,
  RevokeTokenDocument,
  TokensDocument,
  type AccessTokenDuration,
  type TokensQuery,
} from "../generated/operations.ts";
import { texts } from "../texts.ts";
import { dayOf, momentOf } from "../time.ts";

type Token = TokensQuery["listAccessTokens"]["tokens"][number];

const PAGE_SIZE = 100;
const USUAL_DURATION: keyof typeof texts.tokens.durations = "THREE_MONTHS";

/** The tokens that act as the person who is signed in, whoever made them. */
export function Tokens() {
  const me = useMe();
  const urn = me.data?.me?.corpUser.urn ?? "";
  const page = pageOf(new URLSearchParams(useSearch()), PAGE_SIZE);
  const read = useRead(
    TokensDocument,
    { actor: urn, start: (page - 1) * PAGE_SIZE, count: PAGE_SIZE },
    { enabled: urn !== "", keep: true },
  );
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<Token | null>(null);
  const mayCreate = me.data?.me?.platformPrivileges.generatePersonalAccessTokens === true;
  const found = read.data?.listAccessTokens;
  return (
    <>
      <div className="section-head">
        <p className="hint">{texts.tokens.intro}</p>
        {mayCreate && (
          <button type="button" onClick={() => setCreating(true)}>
            {texts.tokens.create}
          </button>
        )}
      </div>
      {!mayCreate && me.isSuccess && <p className="notice">{texts.tokens.notAllowed}</p>}
      {found === undefined && <Awaited read={read} />}
      <Outdated read={read} />
      {found?.total === 0 && <Empty title={texts.tokens.none} hint={texts.tokens.noneHint} />}
      {found !== undefined && found.tokens.length > 0 && <TokenTable tokens={found.tokens} onRevoke={setRevoked} />}
      {found !== undefined && <Pages page={page} size={PAGE_SIZE} total={found.total} addressOf={addresses.tokens} />}
      {isCreating && <NewToken actor={urn} others={found?.tokens ?? []} onClose={() => setCreating(false)} />}
      {revoked !== null && <Revoke token={revoked} onClose={() => setRevoked(null)} />}
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
    <div className="table-scroll">
      <table className="quiet-table stacked">
        <thead>
          <tr>
            <th scope="col">{texts.tokens.columns.name}</th>
            <th scope="col">{texts.tokens.columns.created}</th>
            <th scope="col">{texts.tokens.columns.expires}</th>
            <th scope="col">{texts.tokens.columns.lastUsed}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <th scope="row">{token.name}</th>
              <td data-label={texts.tokens.columns.created}>
                <Moment time={token.createdAt} />
              </td>
              <td data-label={texts.tokens.columns.expires}>{expiryOf(token)}</td>
              <td data-label={texts.tokens.columns.lastUsed}>
                {typeof token.lastUsedAt === "number" ? <Moment time={token.lastUsedAt} /> : texts.tokens.never}
              </td>
              <td className="tree-actions">
                <button
                  type="button"
                  className="quiet"
                  aria-label={texts.tokens.revokeLabel(token.name, momentOf(token.createdAt))}
                  onClick={() => onRevoke(token)}
                >
                  {texts.tokens.revoke}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function expiryOf(token: Token): string {
  if (token.expiresAt === null || token.expiresAt === undefined) return texts.tokens.never;
  return token.expiresAt < Date.now() ? texts.tokens.expired : dayOf(token.expiresAt);
}

interface NewTokenProperties {
  readonly actor: string;
  readonly others: readonly Token[];
  readonly onClose: () => void;
}

function NewToken({ actor, others, onClose }: NewTokenProperties) {
  const [typed, setTyped] = useState("");
  const isUsed = others.some((other) => other.name === typed.trim());
  const create = useChange(CreateTokenDocument);
  const [problem, setProblem] = useState<string | null>(null);
  const secret = create.data?.createAccessToken?.accessToken;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get("name")).trim();
    setProblem(name === "" ? texts.tokens.nameMissing : null);
    if (name !== "") create.mutate({ actor, name, duration: form.get("duration") as AccessTokenDuration });
  };
  return (
    <Dialog title={texts.tokens.create} isOpen onClose={onClose}>
      {secret === undefined ? (
        <form className="form" onSubmit={submit}>
          <label>
            {texts.tokens.name}
            <input
              name="name"
              ref={focusAtFirst}
              onChange={(event) => setTyped(event.target.value)}
              aria-invalid={problem !== null}
              aria-describedby="token-hint"
            />
            <span className="hint" id="token-hint">
              {texts.tokens.nameHint}
            </span>
            <span className="field-problem" role="alert">
              {problem}
            </span>
            <span className="hint warning" role="status">
              {isUsed && texts.tokens.nameUsed(typed.trim())}
            </span>
          </label>
          <label>
            {texts.tokens.expiry}
            <select name="duration" defaultValue={USUAL_DURATION}>
              {Object.entries(texts.tokens.durations).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          {create.error !== null && <Problem error={create.error} />}
          <div className="dialog-feet">
            <button type="button" onClick={onClose}>
              {texts.tokens.cancel}
            </button>
            <button type="submit" className="primary" disabled={create.isPending}>
              {texts.tokens.createDo}
            </button>
          </div>
        </form>
      ) : (
        <>
          <p role="status">{texts.tokens.shownOnce}</p>
          <p className="secret">
            <code aria-label={texts.tokens.secret} data-testid="secret">
              {secret}
            </code>
            <CopyButton text={secret} label={texts.tokens.copy} />
          </p>
          <div className="dialog-feet">
            <button type="button" className="primary" onClick={onClose}>
              {texts.tokens.done}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}

function Revoke({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const revoke = useChange(RevokeTokenDocument);
  return (
    <Dialog title={texts.tokens.revokeTitle(token.name)} isOpen onClose={onClose}>
      <p>{texts.tokens.revokeBody}</p>
      {revoke.error !== null && <Problem error={revoke.error} />}
      <div className="dialog-feet">
        <button type="button" onClick={onClose}>
          {texts.tokens.cancel}
        </button>
        <button
          type="button"
          className="dangerous"
          disabled={revoke.isPending}
          onClick={() => revoke.mutate({ id: token.id }, { onSuccess: onClose })}
        >
          {texts.tokens.revoke}
        </button>
      </div>
    </Dialog>
  );
}
