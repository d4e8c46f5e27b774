import { Dialog } from "../components/dialog.tsx";
import type { Right } from "../privileges.ts";
import { Tags, Terms } from "../rail/labels.tsx";
import { texts } from "../texts.ts";
import type { ColumnDetail } from "../trust/column_details.tsx";
import { readablePath } from "./field_path.ts";

/** Which labels of columns the user may change. */
export interface LabelRights {
  readonly tags: Right;
  readonly terms: Right;
}

/** The tags and glossary terms of one column, to change. */
export function ColumnLabelsDialog({
  urn,
  path,
  detail,
  rights,
  onClose,
}: {
  readonly urn: string;
  readonly path: string;
  readonly detail: ColumnDetail | undefined;
  readonly rights: LabelRights;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={texts.columns.labelsTitle(readablePath(path))} isOpen onClose={onClose}>
      <div className="rail">
        <Tags urn={urn} column={path} tags={detail?.tags ?? []} right={rights.tags} />
        <Terms urn={urn} column={path} terms={detail?.terms ?? []} right={rights.terms} />
      </div>
    </Dialog>
  );
}
