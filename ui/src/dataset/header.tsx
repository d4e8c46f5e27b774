import { Suspense, lazy, useState } from "react";

import { useProposableMutation } from "../api/cache.ts";
import { loadChunk } from "../components/chunks.ts";
import { EntityLink, Environment, RelativeTime } from "../components/common.tsx";
import { FormattedText } from "../components/formatted_text.tsx";
import { Menu } from "../components/menu.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import {
  RenameDocument,
  SetDeprecationDocument,
  SetSoftDeletedDocument,
  type DatasetQuery,
  type UpdateDeprecationInput,
} from "../generated/operations.ts";
import { Icon, KindIcon } from "../icons/icon.tsx";
import { PlatformIcon } from "../icons/platform_icon.tsx";
import { nameOf } from "../names.ts";
import { rightTo, wordsFor } from "../privileges.ts";
import { PendingProposals } from "../proposals/pending.tsx";
import { proposingTexts } from "../proposing_texts.ts";
import { texts } from "../texts.ts";
import { formatDate } from "../time.ts";
import { TrustBadges } from "../trust/summary.tsx";

const RenameDialog = lazy(async () => ({ default: (await dialogs()).RenameDialog }));
const DeprecationDialog = lazy(async () => ({ default: (await dialogs()).DeprecationDialog }));
const dialogs = () => loadChunk(import("./header_dialogs.tsx"));

type Dataset = NonNullable<DatasetQuery["dataset"]>;
type Deprecation = NonNullable<Dataset["deprecation"]>;

/** The name of a dataset, where it is, its state, and what changes these. */
export function DatasetHeader({ dataset }: { readonly dataset: Dataset }) {
  const words = texts.datasetHeader;
  const { urn, privileges } = dataset;
  const name = nameOf(dataset);
  const [dialog, setDialog] = useState<"rename" | "deprecation" | null>(null);
  const rename = useProposableMutation(RenameDocument);
  const deprecate = useProposableMutation(SetDeprecationDocument);
  const remove = useProposableMutation(SetSoftDeletedDocument);
  const mutations = [rename, deprecate, remove];
  const { last, report, clear } = useUndo();
  const open = (which: typeof dialog) => {
    for (const mutation of mutations) mutation.reset();
    setDialog(which);
  };
  const setName = (changed: string, before: string) =>
    rename.mutate(
      { urn, name: changed },
      {
        onSuccess: (isProposed) => {
          setDialog(null);
          if (isProposed) clear();
          else report(words.rename.done(changed), () => setName(before, changed));
        },
      },
    );
  const setDeprecation = (input: UpdateDeprecationInput, before: UpdateDeprecationInput) =>
    deprecate.mutate(
      { input },
      {
        onSuccess: (isProposed) => {
          setDialog(null);
          const { saved, removed } = words.deprecation;
          if (isProposed) clear();
          else report(input.deprecated ? saved : removed, () => setDeprecation(before, input));
        },
      },
    );
  const setRemoved = (isDeleted: boolean) =>
    remove.mutate(
      { urn, isDeleted },
      {
        onSuccess: (isProposed) => {
          const { removed, restored } = words.softDeletion;
          if (isProposed) clear();
          else report(isDeleted ? removed : restored, () => setRemoved(!isDeleted));
        },
      },
    );
  const stored = deprecationInput(urn, dataset.deprecation);
  const isRemoved = dataset.status?.removed === true;
  const manage = rightTo(privileges, "canManageEntity");
  const mayDeprecate = rightTo(privileges, "canEditDeprecation");
  const managing = wordsFor(
    manage,
    { rename: words.rename.action, ...words.softDeletion, save: words.save },
    proposingTexts.header,
  );
  const deprecating = wordsFor(
    mayDeprecate,
    {
      deprecate: words.deprecation.add,
      editDeprecation: words.deprecation.edit,
      undeprecate: words.deprecation.remove,
      save: words.save,
    },
    proposingTexts.header,
  );
  const items = [
    ...(manage !== "none"
      ? [{ label: managing.rename, icon: "edit" as const, onSelect: () => open("rename") }]
      : []),
    ...(mayDeprecate !== "none"
      ? [
          {
            label: stored.deprecated ? deprecating.editDeprecation : deprecating.deprecate,
            icon: "warning" as const,
            onSelect: () => open("deprecation"),
          },
        ]
      : []),
    ...(mayDeprecate !== "none" && stored.deprecated
      ? [
          {
            label: deprecating.undeprecate,
            icon: "close" as const,
            onSelect: () => setDeprecation({ urn, deprecated: false }, stored),
          },
        ]
      : []),
    ...(manage !== "none"
      ? [
          {
            label: isRemoved ? managing.restore : managing.remove,
            icon: isRemoved ? ("undo" as const) : ("remove" as const),
            isDangerous: !isRemoved,
            onSelect: () => setRemoved(!isRemoved),
          },
        ]
      : []),
  ];
  const error = mutations.find((mutation) => mutation.error !== null)?.error ?? null;
  return (
    <header className="entity-header">
      <Location dataset={dataset} />
      <div className="title-row">
        <h1 dir="auto">{name}</h1>
        {items.length > 0 && (
          <Menu
            className="icon-button"
            label={words.actions}
            tooltip={words.actions}
            trigger={<Icon name="more" />}
            items={items}
          />
        )}
      </div>
      <div className="header-facts">
        <Facts dataset={dataset} />
        <TrustBadges urn={urn} />
      </div>
      {isRemoved && <p className="notice">{texts.dataset.removed}</p>}
      {dataset.deprecation?.deprecated === true && (
        <DeprecationNotice deprecation={dataset.deprecation} />
      )}
      <UndoNotice
        last={last}
        isBusy={mutations.some((mutation) => mutation.isPending)}
        error={dialog === null ? error : null}
      />
      <PendingProposals urn={urn} />
      <Suspense>
        {dialog === "rename" && (
          <RenameDialog
            name={name}
            saveLabel={managing.save}
            isBusy={rename.isPending}
            error={rename.error}
            onSave={(changed) => setName(changed, name)}
            onClose={() => setDialog(null)}
          />
        )}
        {dialog === "deprecation" && (
          <DeprecationDialog
            stored={stored}
            saveLabel={deprecating.save}
            replacement={dataset.deprecation?.replacement ?? undefined}
            isBusy={deprecate.isPending}
            error={deprecate.error}
            onSave={(input) => setDeprecation(input, stored)}
            onClose={() => setDialog(null)}
          />
        )}
      </Suspense>
    </header>
  );
}

/** What writes a deprecation as it is stored. */
function deprecationInput(
  urn: string,
  deprecation: Deprecation | null | undefined,
): UpdateDeprecationInput {
  if (deprecation?.deprecated !== true) return { urn, deprecated: false };
  const { note, decommissionTime, replacement } = deprecation;
  return {
    urn,
    deprecated: true,
    note: note ?? null,
    decommissionTime: decommissionTime ?? null,
    replacement: replacement?.urn ?? null,
  };
}

function Location({ dataset }: { readonly dataset: Dataset }) {
  const containers = [...(dataset.parentContainers?.containers ?? [])].reverse();
  return (
    <ol className="breadcrumb">
      <li className="with-icon">
        <PlatformIcon urn={dataset.platform.urn} />
        <EntityLink entity={dataset.platform} />
      </li>
      {containers.map((container) => (
        <li key={container.urn}>
          <EntityLink entity={container} />
        </li>
      ))}
    </ol>
  );
}

function Facts({ dataset }: { readonly dataset: Dataset }) {
  const subType = dataset.subTypes?.typeNames?.[0];
  const external = dataset.properties?.externalUrl;
  const stage = dataset.status?.lifecycleStage;
  return (
    <p className="entity-facts hint">
      <span className="with-icon">
        <KindIcon type="DATASET" subType={subType} />
        {subType ?? texts.entityTypes["DATASET"]?.one}
      </span>
      <Environment origin={dataset.origin} />
      {(dataset.lastIngested ?? 0) > 0 && (
        <span className="with-icon">
          <Icon name="history" />
          <FormattedText
            text={texts.datasetHeader.imported}
            values={{ when: <RelativeTime time={dataset.lastIngested ?? 0} /> }}
          />
        </span>
      )}
      {external !== null && external !== undefined && /^https?:/.test(external) && (
        <a className="with-icon" href={external} rel="noopener noreferrer">
          <Icon name="external" />
          {texts.dataset.external(nameOf(dataset.platform))}
        </a>
      )}
      {stage !== null && stage !== undefined && (
        <span className="chip" title={stage.description ?? undefined}>
          {texts.dataset.stage(stage.name)}
        </span>
      )}
    </p>
  );
}

function DeprecationNotice({ deprecation }: { readonly deprecation: Deprecation }) {
  const { note, replacement, decommissionTime: time } = deprecation;
  const end =
    time === null || time === undefined || time === 0
      ? ""
      : (time > Date.now() ? texts.dataset.decommissioned : texts.dataset.wasDecommissioned)(
          formatDate(time),
        );
  return (
    <p className="notice" dir="auto">
      {texts.dataset.deprecatedNotice} {note}{" "}
      {replacement !== null && replacement !== undefined && (
        <FormattedText
          text={texts.dataset.replacedBy}
          values={{ replacement: <EntityLink entity={replacement} /> }}
        />
      )}{" "}
      {end}
    </p>
  );
}
