import { SectionHeader } from "../components/sections.tsx";
import { LoadingOrError, StaleNotice } from "../components/states.tsx";
import { Members } from "../entity/members.tsx";
import { texts } from "../texts.ts";
import { useAssets } from "./assets.tsx";

/** The assets of a data product, to search within. The product names them: they have nothing in
 *  common in the index. */
export function ProductMembers({
  urn,
  heading,
}: {
  readonly urn: string;
  readonly heading: string;
}) {
  const { assets, read } = useAssets(urn);
  if (assets.length > 0) {
    const urns = assets.map((asset) => asset.urn);
    return <Members heading={heading} field="urn" values={urns} isExpandable />;
  }
  return (
    <section className="section" aria-labelledby="members">
      <SectionHeader title={heading} id="members" />
      <StaleNotice read={read} />
      {read.data === undefined && <LoadingOrError read={read} />}
      {read.data !== undefined && <p className="hint">{texts.entity.noMembers}</p>}
    </section>
  );
}
