import { useState, type ReactNode } from "react";

import { useApiMutation } from "../api/cache.ts";
import { Byline, EntityLink } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { Markdown } from "../components/markdown.tsx";
import { EmptyState } from "../components/states.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  SetIncidentStatusDocument,
  UpdateIncidentDocument,
  type IncidentEntryFragment,
  type IncidentState,
} from "../generated/operations.ts";
import { trustTexts } from "../trust_texts.ts";
import { useActors } from "./actors.ts";
import { IncidentDialog, ResolveDialog } from "./incident_dialogs.tsx";

const words = trustTexts.incidents;

const titleOf = ({ title }: IncidentEntryFragment) => title || words.noTitle;
const isActive = ({ status }: IncidentEntryFragment) => status.state === "ACTIVE";

/** The incidents of a dataset: the active ones, then those that are resolved. */
export function Incidents({
  urn,
  incidents,
  canEdit,
}: {
  readonly urn: string;
  readonly incidents: readonly IncidentEntryFragment[];
  readonly canEdit: boolean;
}) {
  const [isRaising, setRaising] = useState(false);
  const [editing, setEditing] = useState<IncidentEntryFragment | null>(null);
  const [resolving, setResolving] = useState<IncidentEntryFragment | null>(null);
  const setStatus = useApiMutation(SetIncidentStatusDocument);
  const update = useApiMutation(UpdateIncidentDocument);
  const { last, report, clear } = useUndo();
  const actorOf = useActors(
    incidents.flatMap(({ created, status }) => [created.actor, status.lastUpdated.actor]),
  );
  const closeDialog = () => {
    setRaising(false);
    setEditing(null);
  };
  const active = incidents.filter(isActive);
  const resolved = incidents.filter((incident) => !isActive(incident));
  /** Sets the status, and offers the one of before. */
  const change = (incident: IncidentEntryFragment, state: IncidentState, message?: string) => {
    const { status } = incident;
    const stage = state === "RESOLVED" ? "FIXED" : "TRIAGE";
    const before = { state: status.state, stage: status.stage, message: status.message };
    const name = titleOf(incident);
    setStatus.mutate(
      { urn: incident.urn, input: { state, stage, message: message ?? status.message } },
      {
        onSuccess: () => {
          setResolving(null);
          report(state === "RESOLVED" ? words.resolved(name) : words.reopened(name), () =>
            setStatus.mutate({ urn: incident.urn, input: before }, { onSuccess: clear }),
          );
        },
      },
    );
  };
  const entries = (list: readonly IncidentEntryFragment[]) => (
    <ul className="incidents">
      {list.map((incident) => (
        <Incident key={incident.urn} incident={incident} actorOf={actorOf}>
          {canEdit && isActive(incident) && (
            <button
              type="button"
              className="subtle"
              aria-label={words.editLabel(titleOf(incident))}
              onClick={() => setEditing(incident)}
            >
              {words.edit}
            </button>
          )}
          {canEdit && (
            <button
              type="button"
              disabled={setStatus.isPending}
              aria-label={
                isActive(incident)
                  ? words.resolveLabel(titleOf(incident))
                  : words.reopenLabel(titleOf(incident))
              }
              onClick={() => {
                setStatus.reset();
                if (isActive(incident)) setResolving(incident);
                else change(incident, "ACTIVE");
              }}
            >
              {isActive(incident) ? words.resolve : words.reopen}
            </button>
          )}
        </Incident>
      ))}
    </ul>
  );
  return (
    <section className="section" aria-labelledby="incidents">
      <SectionHeader title={words.heading} id="incidents">
        {canEdit && (
          <button type="button" onClick={() => setRaising(true)}>
            {words.raise}
          </button>
        )}
      </SectionHeader>
      {incidents.length === 0 && <EmptyState title={words.none} hint={words.noneHint} />}
      {active.length > 0 && entries(active)}
      <UndoNotice
        last={last}
        isBusy={setStatus.isPending || update.isPending}
        error={resolving === null ? (setStatus.error ?? update.error) : null}
      />
      {resolved.length > 0 && (
        <details open={active.length === 0}>
          <summary>{words.showResolved(resolved.length)}</summary>
          {entries(resolved)}
        </details>
      )}
      {(isRaising || editing !== null) && (
        <IncidentDialog
          urn={urn}
          incident={editing}
          onSaved={(before) => {
            if (editing !== null && before !== null) {
              report(words.changed(titleOf(editing)), () =>
                update.mutate({ urn: editing.urn, input: before }, { onSuccess: clear }),
              );
            }
            closeDialog();
          }}
          onClose={closeDialog}
        />
      )}
      {resolving !== null && (
        <ResolveDialog
          title={titleOf(resolving)}
          isBusy={setStatus.isPending}
          error={setStatus.error}
          onResolve={(message) => change(resolving, "RESOLVED", message)}
          onClose={() => setResolving(null)}
        />
      )}
    </section>
  );
}

function Incident({
  incident,
  actorOf,
  children,
}: {
  readonly incident: IncidentEntryFragment;
  readonly actorOf: ReturnType<typeof useActors>;
  readonly children: ReactNode;
}) {
  const { status, created, description, assignees, priority } = incident;
  const kind =
    incident.incidentType === "CUSTOM" && incident.customType
      ? incident.customType
      : words.kinds[incident.incidentType];
  const isUpdated = status.lastUpdated.time > created.time;
  const people = assignees ?? [];
  return (
    <li className="incident" data-state={status.state}>
      <div className="incident-heading">
        <h3 dir="auto">{titleOf(incident)}</h3>
        {children}
      </div>
      <p className="hint">
        <span className="chip">{words.states[status.state]}</span>{" "}
        {[
          kind,
          priority == null ? null : words.priorities[priority],
          status.stage == null ? null : words.stages[status.stage],
          incident.source?.type === "ASSERTION_FAILURE" ? words.fromCheck : null,
        ]
          .filter((part) => part !== null)
          .join(" · ")}
        {" · "}
        <Byline
          actor={actorOf(created.actor)}
          time={created.time}
          by={words.raisedBy}
          at={words.raisedAt}
        />
        {isUpdated && (
          <>
            {" · "}
            <Byline
              actor={actorOf(status.lastUpdated.actor)}
              time={status.lastUpdated.time}
              by={isActive(incident) ? words.updatedBy : words.resolvedBy}
              at={isActive(incident) ? words.updatedAt : words.resolvedAt}
            />
          </>
        )}
      </p>
      {description != null && description !== "" && <Markdown text={description} />}
      {status.message != null && status.message !== "" && (
        <p className="incident-message" dir="auto">
          {status.message}
        </p>
      )}
      {people.length > 0 && (
        <p className="hint">
          <FormattedText
            text={words.assignees}
            values={{
              people: people.map((person, index) => (
                <span key={person.urn}>
                  {index > 0 && ", "}
                  <EntityLink entity={person} />
                </span>
              )),
            }}
          />
        </p>
      )}
    </li>
  );
}
