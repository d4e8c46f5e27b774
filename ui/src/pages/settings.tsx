import { lazy, type ComponentType } from "react";
import { Link } from "wouter";

import { SECTION_PRIVILEGES, type AdminSection } from "../admin/rights.ts";
import { useRights } from "../rights.ts";
import * as addresses from "../addresses.ts";
import { loadChunk } from "../components/chunks.ts";
import { Skeleton, useTitle } from "../components/states.tsx";
import { Account } from "../settings/account.tsx";
import { Preferences } from "../settings/preferences.tsx";
import { Tokens } from "../settings/tokens.tsx";
import { adminTexts } from "../admin_texts.ts";
import { settingsTexts } from "../settings_texts.ts";
import { NotFound } from "./not_found.tsx";

import "../styles/admin.css";
import "../styles/governance.css";

type Section = keyof typeof settingsTexts.sections;

const SECTIONS: Readonly<Record<Section, ComponentType>> = {
  tokens: Tokens,
  account: Account,
  appearance: Preferences,
  users: lazy(() => loadChunk(import("../admin/people.tsx"))),
  invitations: lazy(() => loadChunk(import("../admin/invitations.tsx"))),
  groups: lazy(() => loadChunk(import("../admin/groups.tsx"))),
  roles: lazy(() => loadChunk(import("../admin/roles.tsx"))),
  policies: lazy(() => loadChunk(import("../admin/policies.tsx"))),
  "all-tokens": lazy(() => loadChunk(import("../admin/all_tokens.tsx"))),
  "service-accounts": lazy(() => loadChunk(import("../admin/service_accounts.tsx"))),
  "ownership-types": lazy(() => loadChunk(import("../admin/ownership_types.tsx"))),
  properties: lazy(() => loadChunk(import("../properties/definitions.tsx"))),
  forms: lazy(() => loadChunk(import("../forms/definitions.tsx"))),
  ingestion: lazy(() => loadChunk(import("../ingestion/sources.tsx"))),
  secrets: lazy(() => loadChunk(import("../ingestion/secrets.tsx"))),
  webhooks: lazy(() => loadChunk(import("../webhooks/webhooks.tsx"))),
  audit: lazy(() => loadChunk(import("../settings/audit.tsx"))),
  server: lazy(() => loadChunk(import("../admin/server.tsx"))),
};

/** The sections in the navigation, by their headings. */
const NAVIGATION: readonly (readonly [heading: string, sections: readonly Section[]])[] = [
  [adminTexts.sections.personal, ["tokens", "account", "appearance"]],
  [
    adminTexts.sections.access,
    ["users", "invitations", "groups", "roles", "policies", "all-tokens", "service-accounts"],
  ],
  [adminTexts.sections.catalog, ["properties", "forms", "ownership-types"]],
  [adminTexts.sections.system, ["ingestion", "secrets", "webhooks", "audit", "server"]],
];

const isSection = (name: string): name is Section => Object.hasOwn(SECTIONS, name);
const isAdminSection = (name: Section): name is AdminSection =>
  Object.hasOwn(SECTION_PRIVILEGES, name);

export default function SettingsPage({ section }: { readonly section: string }) {
  const rights = useRights();
  useTitle(isSection(section) ? settingsTexts.titleOf(settingsTexts.sections[section]) : undefined);
  if (!isSection(section)) return <NotFound />;
  const isAllowed = (name: Section) =>
    !isAdminSection(name) || rights.has(...SECTION_PRIVILEGES[name]);
  const Content = SECTIONS[section];
  return (
    <div className="settings">
      <h1 className="settings-title">{settingsTexts.title}</h1>
      <nav className="settings-nav" aria-label={settingsTexts.sectionsLabel}>
        {NAVIGATION.map(([heading, sections]) => {
          const allowed = sections.filter(isAllowed);
          if (allowed.length === 0) return null;
          return (
            <div key={heading} className="settings-nav-group">
              <p>{heading}</p>
              <ul>
                {allowed.map((name) => (
                  <li key={name}>
                    <Link
                      href={addresses.settings(name)}
                      aria-current={name === section ? "page" : undefined}
                    >
                      {settingsTexts.sections[name]}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </nav>
      <section className="settings-content" aria-labelledby="settings-section">
        <h2 id="settings-section">{settingsTexts.sections[section]}</h2>
        {isAllowed(section) ? (
          <Content />
        ) : rights.isKnown ? (
          <p className="notice">{adminTexts.notAllowed}</p>
        ) : (
          <Skeleton />
        )}
      </section>
    </div>
  );
}
