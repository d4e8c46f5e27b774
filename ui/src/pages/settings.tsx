export default function Page({ section }: { readonly section: string }) { return <p>{section}</p>; }
