export default function Page({ urn }: { readonly urn: string }) { return <p>{urn}</p>; }
