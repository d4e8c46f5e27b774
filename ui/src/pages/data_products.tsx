import { useState } from "react";
import { useLocation } from "wouter";

import * as addresses from "../addresses.ts";
import { useApiMutation } from "../api/cache.ts";
import { EntityList, type ListedEntity } from "../browse/list.tsx";
import { EntityLink } from "../components/common.tsx";
import {
  DescriptionField,
  FormDialog,
  NameField,
  closeThen,
  fieldOf,
} from "../components/form_dialog.tsx";
import { plainText } from "../components/plain_text.ts";
import { useDomainHierarchy, type DomainNode } from "../domain_hierarchy.ts";
import { CreateDataProductDocument } from "../generated/operations.ts";
import { parentPath } from "../names.ts";
import { productTexts } from "../product_texts.ts";
import { texts } from "../texts.ts";
import { ancestorsOf } from "../tree.ts";

const productOf = (entity: ListedEntity) => ("productProperties" in entity ? entity : undefined);

/** All data products with their domains. */
export default function DataProductsPage() {
  const words = productTexts;
  const [, navigate] = useLocation();
  const [isCreating, setCreating] = useState(false);
  const { hierarchy } = useDomainHierarchy();
  // Who may edit a domain may create products in it.
  const domains = [...(hierarchy?.byUrn.values() ?? [])].filter((domain) => domain.canManage);
  return (
    <>
      <EntityList
        path={addresses.dataProducts}
        type="DATA_PRODUCT"
        words={words}
        columns={[
          {
            title: words.columns.domain,
            cell: (entity) => {
              const listed = productOf(entity);
              const domain = listed !== undefined && "domain" in listed ? listed.domain : undefined;
              return domain ? <EntityLink entity={domain.domain} /> : "";
            },
          },
          {
            title: words.columns.description,
            kind: "text",
            cell: (entity) => {
              const properties = productOf(entity)?.productProperties;
              const description =
                properties && "description" in properties ? properties.description : "";
              return plainText(description ?? "");
            },
          },
          {
            title: words.columns.assets,
            kind: "number",
            cell: (entity) => {
              const properties = productOf(entity)?.productProperties;
              const assets = properties && "numAssets" in properties ? properties.numAssets : 0;
              return texts.number(assets ?? 0);
            },
          },
        ]}
        actions={
          domains.length > 0 && (
            <button type="button" onClick={() => setCreating(true)}>
              {words.create}
            </button>
          )
        }
      />
      {isCreating && (
        <CreateProductDialog
          domains={domains}
          onClose={() => setCreating(false)}
          onCreated={(urn) => navigate(addresses.entity(urn))}
        />
      )}
    </>
  );
}

function CreateProductDialog({
  domains,
  onClose,
  onCreated,
}: {
  /** The domains in which the user may create products. */
  readonly domains: readonly DomainNode[];
  readonly onClose: () => void;
  readonly onCreated: (urn: string) => void;
}) {
  const words = productTexts;
  const [invalid, setInvalid] = useState<{ name: string | null; domain: string | null }>({
    name: null,
    domain: null,
  });
  const create = useApiMutation(CreateDataProductDocument);
  const submit = (form: FormData) => {
    const name = fieldOf(form, "name");
    const domain = fieldOf(form, "domain");
    setInvalid({
      name: name === "" ? words.nameMissing : null,
      domain: domain === "" ? words.domainMissing : null,
    });
    if (name === "" || domain === "") return;
    create.mutate(
      { name, description: fieldOf(form, "description") || null, domain },
      {
        onSuccess: ({ createDataProduct: product }) => {
          if (product) closeThen(onClose, () => onCreated(product.urn));
        },
      },
    );
  };
  return (
    <FormDialog
      title={words.create}
      submit={words.createButton}
      isBusy={create.isPending}
      error={create.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <NameField error={invalid.name} />
      <label>
        {words.domain}
        <select
          name="domain"
          defaultValue=""
          aria-invalid={invalid.domain !== null}
          aria-describedby="product-domain-error"
        >
          <option value="">{words.chooseDomain}</option>
          {domains.map((domain) => (
            <option key={domain.urn} value={domain.urn}>
              {parentPath([domain, ...ancestorsOf(domain).reverse()])}
            </option>
          ))}
        </select>
        <span id="product-domain-error" className="field-error" role="alert">
          {invalid.domain}
        </span>
      </label>
      <DescriptionField />
    </FormDialog>
  );
}
