import { Dialog } from "../components/dialog.tsx";
import { TreePicker } from "../components/tree_picker.tsx";
import { useDomainHierarchy, type DomainNode } from "../domain_hierarchy.ts";
import { texts } from "../texts.ts";

interface PickerProperties {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly current?: string | undefined;
  readonly onPick: (urn: string) => void;
  /** The option for no domain, if offered. */
  readonly none?: { readonly label: string; readonly onPick: () => void } | undefined;
  /** Whether a domain can be picked; all can by default. */
  readonly canPick?: ((node: DomainNode) => boolean) | undefined;
  /** A domain to leave out, with its subdomains. */
  readonly excluded?: string | undefined;
}

/** A dialog to pick a domain from the hierarchy. */
export function DomainPicker({ title, isOpen, onClose, ...rest }: PickerProperties) {
  return (
    <Dialog title={title} isOpen={isOpen} onClose={onClose}>
      <PickerBody {...rest} />
    </Dialog>
  );
}

function PickerBody(properties: Omit<PickerProperties, "title" | "isOpen" | "onClose">) {
  const domains = useDomainHierarchy();
  return (
    <TreePicker
      words={texts.domainPicker}
      hierarchy={domains.hierarchy}
      read={domains}
      {...properties}
    />
  );
}
