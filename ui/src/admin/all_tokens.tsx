import { useState } from "react";
import { Link, useLocation, useSearch } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiQuery } from "../api/cache.ts";
import { RelativeTime } from "../components/common.tsx";
import { Pagination, pageFromAddress } from "../components/pagination.tsx";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { AllTokensDocument, type AllTokensQuery } from "../generated/operations.ts";
import { nameOf, urnId } from "../names.ts";
import { RevokeDialog, expirationOf } from "../settings/tokens.tsx";
import { adminTexts } from "../admin_texts.ts";
import { tokenTexts } from "../settings_texts.ts";
import { formatDateTime } from "../time.ts";
import { AdminTable, FilterField } from "./common.tsx";

type Token = AllTokensQuery["listAccessTokens"]["tokens"][number];

const PAGE_SIZE = 50;
const USER = "urn:li:corpuser:";

/** The access tokens of all users. */
export default function AllTokens() {
  const words = adminTexts.tokens;
  const [, navigate] = useLocation();
  const parameters = new URLSearchParams(useSearch());
  const text = parameters.get("user") ?? "";
  const user = text.trim();
  const page = pageFromAddress(parameters, PAGE_SIZE);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const actor = user.startsWith("urn:") ? user : `${USER}${user}`;
  const read = useApiQuery(
    AllTokensDocument,
    {
      filters: user === "" ? [] : [{ field: "actorUrn", values: [actor] }],
      start: (page - 1) * PAGE_SIZE,
      count: PAGE_SIZE,
    },
    { keepPrevious: true },
  );
  const found = read.data?.listAccessTokens;
  return (
    <>
      <p className="hint admin-intro">{words.intro}</p>
      <div className="admin-filters">
        <FilterField
          label={words.user}
          value={text}
          onChange={(typed) =>
            navigate(addresses.settingsWith("all-tokens", { user: typed }), {
              replace: true,
              state: addresses.SAME_PAGE,
            })
          }
        />
      </div>
      {found === undefined && <LoadingOrError read={read} />}
      <StaleNotice read={read} />
      {found?.total === 0 && (
        <EmptyState title={words.none} hint={words.noneHint}>
          {user !== "" && <Link href={addresses.settings("all-tokens")}>{words.showAll}</Link>}
        </EmptyState>
      )}
      {found !== undefined && found.tokens.length > 0 && (
        <AdminTable columns={words.columns}>
          {found.tokens.map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={() => setRevoking(token)} />
          ))}
        </AdminTable>
      )}
      {found !== undefined && (
        <Pagination
          page={page}
          size={PAGE_SIZE}
          total={found.total}
          addressOf={(number) => addresses.settingsWith("all-tokens", { user: text }, number)}
        />
      )}
      {revoking !== null && <RevokeDialog token={revoking} onClose={() => setRevoking(null)} />}
    </>
  );
}

function TokenRow({ token, onRevoke }: { readonly token: Token; readonly onRevoke: () => void }) {
  const words = adminTexts.tokens;
  const user = urnId(token.actorUrn);
  const isOthers = token.owner !== null && token.owner.urn !== token.actorUrn;
  return (
    <tr>
      <th scope="row" dir="auto">
        {token.name}
      </th>
      <td data-label={words.columns.user}>
        <Link href={addresses.entity(token.actorUrn)}>{user}</Link>
      </td>
      <td data-label={words.columns.created}>
        <RelativeTime time={token.createdAt} />{" "}
        {isOthers && <span className="hint">{words.byUser(nameOf(token.owner))}</span>}
      </td>
      <td data-label={words.columns.expires}>{expirationOf(token)}</td>
      <td data-label={words.columns.lastUsed}>
        {typeof token.lastUsedAt === "number" ? (
          <RelativeTime time={token.lastUsedAt} />
        ) : (
          tokenTexts.never
        )}
      </td>
      <td data-label={words.columns.scope}>{scopeOf(token)}</td>
      <td className="row-actions">
        <button
          type="button"
          className="subtle"
          aria-label={tokenTexts.revokeLabel(token.name, formatDateTime(token.createdAt))}
          onClick={onRevoke}
        >
          {tokenTexts.revoke}
        </button>
      </td>
    </tr>
  );
}

function scopeOf({ scope }: Token) {
  const words = adminTexts.tokens;
  if (scope === null) return words.noScope;
  const parts = [
    ...(scope.readOnly ? [words.readOnly] : []),
    ...(scope.privileges === null ? [] : [words.privileges(scope.privileges.length)]),
    ...(scope.domainUrn === null ? [] : [words.domain(urnId(scope.domainUrn))]),
  ];
  return <span title={scope.privileges?.join(", ")}>{words.scope(parts)}</span>;
}
