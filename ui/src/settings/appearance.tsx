import { useState } from "react";

import { areSingleKeysOn, chooseSingleKeys } from "../components/keys.ts";
import { texts } from "../texts.ts";
import { chooseTheme, theme, type Theme } from "../theme.ts";

const THEMES: readonly Theme[] = ["system", "light", "dark"];

export function Appearance() {
  return (
    <>
      <ThemeChoice />
      <KeysChoice />
    </>
  );
}

function ThemeChoice() {
  const [chosen, setChosen] = useState(theme());
  return (
    <fieldset className="choices">
      <legend>{texts.shell.theme.label}</legend>
      {THEMES.map((name) => (
        <label key={name} className="check">
          <input
            type="radio"
            name="theme"
            checked={name === chosen}
            onChange={() => {
              setChosen(name);
              chooseTheme(name);
            }}
          />
          {texts.shell.theme[name]}
        </label>
      ))}
    </fieldset>
  );
}

function KeysChoice() {
  const [areOn, setOn] = useState(areSingleKeysOn());
  return (
    <fieldset className="choices">
      <legend>{texts.keys.title}</legend>
      <label className="check">
        <input
          type="checkbox"
          checked={areOn}
          onChange={(event) => {
            setOn(event.target.checked);
            chooseSingleKeys(event.target.checked);
          }}
        />
        {texts.keys.single}
      </label>
    </fieldset>
  );
}
