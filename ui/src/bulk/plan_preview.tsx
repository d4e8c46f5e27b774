import { bulkTexts } from "../bulk_texts.ts";
import type { Plan } from "./actions.ts";
import type { Names } from "./entity_state.ts";
import type { Facet } from "./values.ts";

const MAX_LISTED = 50;

/** What an action would change, and what not, with the reasons. */
export function PlanPreview({
  plan,
  facet,
  names,
}: {
  readonly plan: Plan;
  readonly facet: Facet;
  readonly names: Names;
}) {
  const edited = plan.edits.filter(({ permission }) => permission === "edit");
  const proposed = plan.edits.filter(({ permission }) => permission === "propose");
  const nameOfEdit = ({ name }: { readonly name: string }) => name;
  return (
    <section className="bulk-preview" aria-labelledby="bulk-preview" aria-live="polite">
      <h3 id="bulk-preview">{bulkTexts.preview}</h3>
      <Group heading={bulkTexts.willChange(edited.length)} names={edited.map(nameOfEdit)} isShown />
      {facet === "domain" && <ReplacedDomains plan={plan} names={names} />}
      <Group heading={bulkTexts.willPropose(proposed.length)} names={proposed.map(nameOfEdit)} />
      <Group heading={bulkTexts.willStay(plan.unchanged.length)} names={plan.unchanged} />
      <Group heading={bulkTexts.notAllowed(plan.forbidden.length)} names={plan.forbidden} />
      <Group heading={bulkTexts.wrongType(plan.notApplicable.length)} names={plan.notApplicable} />
      <Group heading={bulkTexts.gone(plan.missing.length)} names={plan.missing} />
    </section>
  );
}

/** How many entities leave which domain. */
function ReplacedDomains({ plan, names }: { readonly plan: Plan; readonly names: Names }) {
  const counts = new Map<string, number>();
  for (const edit of plan.edits) {
    if (edit.facet !== "domain") continue;
    const name =
      edit.before === null ? bulkTexts.noDomain : (names.get(edit.before) ?? edit.before);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (counts.size === 0) return null;
  const list = [...counts].map(([name, number]) => bulkTexts.replaces(name, number));
  return (
    <p className="hint">
      {bulkTexts.replaced}: {list.join(" · ")}
    </p>
  );
}

function Group({
  heading,
  names,
  isShown = false,
}: {
  readonly heading: string;
  readonly names: readonly string[];
  /** Whether to show it even if it is empty. */
  readonly isShown?: boolean;
}) {
  if (names.length === 0) return isShown ? <p>{heading}</p> : null;
  return (
    <details className="bulk-group">
      <summary>{heading}</summary>
      <ul>
        {names.slice(0, MAX_LISTED).map((name, index) => (
          <li key={index} dir="auto">
            {name}
          </li>
        ))}
        {names.length > MAX_LISTED && <li>{bulkTexts.andMore(names.length - MAX_LISTED)}</li>}
      </ul>
    </details>
  );
}
