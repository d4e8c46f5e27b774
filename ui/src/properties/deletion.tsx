import { useApiQuery } from "../api/cache.ts";
import { run } from "../api/client.ts";
import { DeleteDialog } from "../components/delete_dialog.tsx";
import { ErrorMessage } from "../components/states.tsx";
import {
  DeleteStructuredPropertyDocument,
  PropertyCarriersDocument,
  type ManagedPropertyFragment,
} from "../generated/operations.ts";
import { propertyTexts } from "../property_texts.ts";
import { texts } from "../texts.ts";
import { nameOfProperty, searchFieldOf } from "./definition.ts";

const words = propertyTexts.deletion;
const TYPE_FACETS = ["_entityType", "entity"];

/** Asks before a property is deleted, and says which values are lost. */
export function PropertyDeletion({
  property,
  onDeleted,
  onClose,
}: {
  readonly property: ManagedPropertyFragment;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}) {
  const read = useApiQuery(PropertyCarriersDocument, { field: searchFieldOf(property) });
  const carriers = read.data?.searchAcrossEntities;
  const types =
    carriers?.facets?.find(({ field }) => TYPE_FACETS.includes(field))?.aggregations ?? [];
  return (
    <DeleteDialog
      name={nameOfProperty(property)}
      isReady={carriers != null}
      onDelete={() => run(DeleteStructuredPropertyDocument, { urn: property.urn })}
      onDeleted={onDeleted}
      onClose={onClose}
    >
      {read.error !== null && <ErrorMessage error={read.error} retry={() => void read.refetch()} />}
      {read.isPending && <p className="hint">{words.counting}</p>}
      {carriers?.total === 0 && <p>{words.none}</p>}
      {carriers != null && carriers.total > 0 && (
        <>
          <p>{words.total(carriers.total)}</p>
          <ul>
            {types.map(({ value, count }) => (
              <li key={value}>
                {words.ofType(count ?? 0, texts.entityTypes[value]?.many ?? value)}
              </li>
            ))}
          </ul>
        </>
      )}
      <p>{words.final}</p>
    </DeleteDialog>
  );
}
