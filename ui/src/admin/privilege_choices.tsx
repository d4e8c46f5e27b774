import { useState } from "react";

import type { PolicyType } from "../generated/operations.ts";
import { policyTexts } from "../policy_texts.ts";
import { FilterField } from "./common.tsx";
import { choicesOf, type Grantable } from "./privileges.ts";

interface ChoicesProperties {
  readonly type: PolicyType;
  readonly grantable: readonly Grantable[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

/** The privileges that a policy can grant, in groups. Groups with a selection are open. */
export function PrivilegeChoices({ type, grantable, chosen, onChange }: ChoicesProperties) {
  const words = policyTexts.form;
  const [text, setText] = useState("");
  const query = text.trim().toLocaleLowerCase();
  // Stored policies may have privileges that are not offered any more.
  const known = new Set(grantable.map((privilege) => privilege.type));
  const kept = chosen.filter((name) => !known.has(name)).map((name) => ({ type: name }));
  const groups = choicesOf([...grantable, ...kept], type, words.otherPrivileges)
    .map(({ title, choices }) => ({
      title,
      choices: choices.filter(({ name, label }) =>
        `${label} ${name}`.toLocaleLowerCase().includes(query),
      ),
    }))
    .filter(({ choices }) => choices.length > 0);
  return (
    <>
      <FilterField label={words.findPrivilege} value={text} onChange={setText} />
      {groups.length === 0 && <p className="hint">{words.noPrivileges(text.trim())}</p>}
      {groups.map(({ title, choices }, index) => {
        const count = choices.filter(({ name }) => chosen.includes(name)).length;
        return (
          <Group
            key={`${type} ${title}`}
            title={title}
            count={count}
            isOpen={query !== "" || count > 0 || index === 0}
          >
            {choices.map(({ name, label }) => (
              <label key={name} className="choice" title={name}>
                <input
                  type="checkbox"
                  checked={chosen.includes(name)}
                  onChange={(event) =>
                    onChange(
                      event.target.checked
                        ? [...chosen, name]
                        : chosen.filter((other) => other !== name),
                    )
                  }
                />
                {label}
              </label>
            ))}
          </Group>
        );
      })}
    </>
  );
}

function Group({
  title,
  count,
  isOpen,
  children,
}: {
  readonly title: string;
  readonly count: number;
  readonly isOpen: boolean;
  readonly children: React.ReactNode;
}) {
  // Stays as it is when its last privilege is cleared: it must not close under the pointer.
  const [wasOpen, setWasOpen] = useState(isOpen);
  return (
    <details
      className="privilege-group"
      open={wasOpen || isOpen}
      onToggle={(event) => setWasOpen(event.currentTarget.open)}
    >
      <summary>
        {title} {count > 0 && <span className="tab-count">{policyTexts.form.selected(count)}</span>}
      </summary>
      <div className="choices">{children}</div>
    </details>
  );
}
