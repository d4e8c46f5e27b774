import { useState } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { isNotFound } from "../api/client.ts";
import { EntityLink } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorMessage, LoadingOrError } from "../components/states.tsx";
import { FieldProblem, useValidation } from "../components/validation.tsx";
import {
  MineDocument,
  MyGroupsDocument,
  UpdateDescriptionDocument,
  type MineQuery,
} from "../generated/operations.ts";
import { locationOf, nameOf } from "../names.ts";
import { canChange } from "../privileges.ts";
import { ENTITY_TYPE } from "../search/state.ts";
import { texts } from "../texts.ts";

type Results = NonNullable<MineQuery["searchAcrossEntities"]>["searchResults"];
type Owned = Results[number]["entity"];

const TYPES = ["DATASET", "CONTAINER", "DASHBOARD", "CHART", "DATA_FLOW", "DATA_JOB"] as const;

/** What the user or their groups own and lacks a description, each with a way to write one. */
export function Mine({ user }: { readonly user: string }) {
  const groups = useApiQuery(MyGroupsDocument, { urn: user });
  // With authentication off, the user is the server itself, which has no groups.
  const isKnown = groups.data !== undefined || (groups.error !== null && isNotFound(groups.error));
  const members = groups.data?.corpUser?.groups?.relationships ?? [];
  const owners = [user, ...members.flatMap(({ entity }) => entity?.urn ?? [])];
  const condition = {
    and: [
      { field: "owners", values: owners },
      { field: "hasDescription", values: ["false"] },
    ],
  };
  const read = useApiQuery(
    MineDocument,
    { types: [...TYPES], filters: [condition] },
    { enabled: isKnown },
  );
  const results = read.data?.searchAcrossEntities;
  // Only to tell whether nothing is left to do, or nothing is owned.
  const owned = useApiQuery(
    MineDocument,
    { types: [...TYPES], filters: [{ and: condition.and.slice(0, 1) }] },
    { enabled: results?.total === 0 },
  );
  const [described, setDescribed] = useState<Owned | null>(null);
  const [saved, setSaved] = useState("");
  return (
    <section aria-labelledby="home-mine">
      <h2 id="home-mine">{texts.mine.heading}</h2>
      {results === null || results === undefined ? (
        <LoadingOrError read={isKnown ? read : groups} lines={3} />
      ) : results.total === 0 ? (
        <Nothing ownsSome={(owned.data?.searchAcrossEntities?.total ?? 0) > 0} />
      ) : (
        <>
          <ul className="row-list">
            {results.searchResults.map(({ entity }) => (
              <li key={entity.urn}>
                <span>
                  <EntityLink entity={entity} />
                  {"parentContainers" in entity && (
                    <span className="hint" dir="auto">
                      {" "}
                      {locationOf(entity)}
                    </span>
                  )}
                </span>
                {"privileges" in entity && canChange(entity.privileges, "canEditDescription") && (
                  <button
                    type="button"
                    className="subtle"
                    aria-label={texts.mine.describeLabel(nameOf(entity))}
                    onClick={() => setDescribed(entity)}
                  >
                    {texts.mine.describe}
                  </button>
                )}
              </li>
            ))}
          </ul>
          {results.total > results.searchResults.length && (
            <p className="hint">
              <Link
                href={addresses.search("", {
                  [ENTITY_TYPE]: TYPES,
                  owners,
                  hasDescription: ["false"],
                })}
              >
                {texts.mine.all(results.total)}
              </Link>
            </p>
          )}
        </>
      )}
      <p role="status" className="hint">
        {saved}
      </p>
      {described !== null && (
        <DescribeDialog
          entity={described}
          onClose={() => setDescribed(null)}
          onSaved={() => {
            setSaved(texts.mine.described(nameOf(described)));
            setDescribed(null);
          }}
        />
      )}
    </section>
  );
}

function Nothing({ ownsSome }: { readonly ownsSome: boolean }) {
  return <p className="hint">{ownsSome ? texts.mine.none : texts.mine.nothing}</p>;
}

interface DescribeProperties {
  readonly entity: Owned;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

function DescribeDialog({ entity, onClose, onSaved }: DescribeProperties) {
  const update = useApiMutation(UpdateDescriptionDocument);
  const [text, setText] = useState("");
  const { check, problemOf, attributesOf } = useValidation();
  return (
    <Dialog title={texts.mine.dialogTitle(nameOf(entity))} isOpen onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!check(event.currentTarget)) return;
          const input = { resourceUrn: entity.urn, description: text, previousDescription: "" };
          update.mutate({ input }, { onSuccess: onSaved });
        }}
      >
        <label>
          {texts.mine.text}
          <textarea
            rows={6}
            dir="auto"
            name="text"
            required
            {...attributesOf("text")}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <FieldProblem name="text" text={problemOf("text")} />
        {update.error !== null && <ErrorMessage error={update.error} />}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {texts.common.cancel}
          </button>
          <button type="submit" className="primary" disabled={update.isPending}>
            {texts.mine.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
