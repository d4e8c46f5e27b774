import { useState } from "react";

import { areSingleKeyShortcutsEnabled, setSingleKeyShortcuts } from "../components/shortcuts.ts";
import { texts } from "../texts.ts";
import { setTheme, theme, type Theme } from "../theme.ts";

const THEMES: readonly Theme[] = ["system", "light", "dark"];

export function Preferences() {
  return (
    <>
      <ThemeChoice />
      <ShortcutsChoice />
    </>
  );
}

function ThemeChoice() {
  const [selected, setSelected] = useState(theme());
  return (
    <fieldset className="option-group">
      <legend>{texts.shell.theme.label}</legend>
      {THEMES.map((name) => (
        <label key={name} className="checkbox-label">
          <input
            type="radio"
            name="theme"
            checked={name === selected}
            onChange={() => {
              setSelected(name);
              setTheme(name);
            }}
          />
          {texts.shell.theme[name]}
        </label>
      ))}
    </fieldset>
  );
}

function ShortcutsChoice() {
  const [isEnabled, setEnabled] = useState(areSingleKeyShortcutsEnabled());
  return (
    <fieldset className="option-group">
      <legend>{texts.shortcuts.title}</legend>
      <label className="checkbox-label">
        <input
          type="checkbox"
          checked={isEnabled}
          onChange={(event) => {
            setEnabled(event.target.checked);
            setSingleKeyShortcuts(event.target.checked);
          }}
        />
        {texts.shortcuts.singleKey}
      </label>
    </fieldset>
  );
}
