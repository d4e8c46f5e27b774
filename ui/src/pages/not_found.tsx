import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { EmptyState, useTitle } from "../components/states.tsx";
import { texts } from "../texts.ts";

export function NotFound() {
  useTitle(texts.errors.notFoundTitle);
  return (
    <EmptyState isPage title={texts.errors.notFound} hint={texts.errors.notFoundHint}>
      <Link href={addresses.home}>{texts.home.title}</Link>
    </EmptyState>
  );
}
