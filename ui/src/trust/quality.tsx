import { useApiQuery } from "../api/cache.ts";
import { EmptyState, LoadingOrError, StaleNotice } from "../components/states.tsx";
import { SectionHeader } from "../components/sections.tsx";
import { QualityDocument, type AssertionEntryFragment } from "../generated/operations.ts";
import { trustTexts } from "../trust_texts.ts";
import { Checks, checksOf, lastResult, type Contract } from "./checks.tsx";
import { Incidents } from "./incidents.tsx";

/** The tab "Quality" of a dataset. */
export default function Quality({ urn }: { readonly urn: string }) {
  const read = useApiQuery(QualityDocument, { urn });
  if (read.data === undefined) return <LoadingOrError read={read} lines={8} />;
  const dataset = read.data.dataset;
  const checks = dataset?.assertions?.assertions ?? [];
  return (
    <>
      <StaleNotice read={read} />
      <Incidents
        urn={urn}
        incidents={dataset?.incidents?.incidents ?? []}
        canEdit={dataset?.privileges?.canEditIncidents === true}
      />
      <Checks
        checks={checks}
        total={dataset?.assertions?.total ?? 0}
        contract={dataset?.contract}
      />
      <ContractState contract={dataset?.contract} checks={checks} />
    </>
  );
}

function ContractState({
  contract,
  checks,
}: {
  readonly contract: Contract | null | undefined;
  readonly checks: readonly AssertionEntryFragment[];
}) {
  const words = trustTexts.contract;
  return (
    <section className="section" aria-labelledby="contract">
      <SectionHeader title={words.heading} id="contract">
        {contract?.status != null && (
          <span className="chip">{words.states[contract.status.state]}</span>
        )}
      </SectionHeader>
      {contract == null ? (
        <EmptyState title={words.none} hint={words.noneHint} />
      ) : (
        <p>{stateOf(contract, checks)}</p>
      )}
    </section>
  );
}

/** Whether a contract is kept, from the last results of its checks. */
function stateOf(contract: Contract, checks: readonly AssertionEntryFragment[]): string {
  const words = trustTexts.contract;
  const guaranteed = checksOf(contract);
  const results = guaranteed.map((urn) => {
    const check = checks.find((candidate) => candidate.urn === urn);
    return check === undefined ? undefined : lastResult(check);
  });
  if (guaranteed.length === 0) return words.empty;
  const failing = results.filter((result) => result === "FAILURE" || result === "ERROR").length;
  if (failing > 0) return words.broken(failing, guaranteed.length);
  const missing = results.filter((result) => result === undefined).length;
  return missing > 0 ? words.unknown(missing, guaranteed.length) : words.kept(guaranteed.length);
}
