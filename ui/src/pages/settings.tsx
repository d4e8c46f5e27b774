import type { ReactNode } from "react";
import { Link } from "wouter";

import * as addresses from "../addresses.ts";
import { useTitle } from "../components/states.tsx";
import { Account } from "../settings/account.tsx";
import { AuditLog } from "../settings/audit.tsx";
import { Preferences } from "../settings/preferences.tsx";
import { Tokens } from "../settings/tokens.tsx";
import { Users } from "../settings/users.tsx";
import { texts } from "../texts.ts";
import { NotFound } from "./not_found.tsx";

const SECTIONS: Readonly<Record<keyof typeof texts.settings.sections, () => ReactNode>> = {
  tokens: Tokens,
  account: Account,
  users: Users,
  audit: AuditLog,
  appearance: Preferences,
};

function isSection(name: string): name is keyof typeof SECTIONS {
  return Object.hasOwn(SECTIONS, name);
}

export default function SettingsPage({ section }: { readonly section: string }) {
  useTitle(
    isSection(section) ? texts.settings.titleOf(texts.settings.sections[section]) : undefined,
  );
  if (!isSection(section)) return <NotFound />;
  const Section = SECTIONS[section];
  return (
    <>
      <h1 className="settings-title">{texts.settings.title}</h1>
      <nav className="tabs" aria-label={texts.settings.sectionsLabel}>
        {Object.entries(texts.settings.sections).map(([name, label]) => (
          <Link
            key={name}
            href={addresses.settings(name)}
            aria-current={name === section ? "page" : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      <Section />
    </>
  );
}
