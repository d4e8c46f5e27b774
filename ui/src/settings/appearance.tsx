import { useState } from "react";

import { texts } from "../texts.ts";
import { chooseTheme, theme, type Theme } from "../theme.ts";

const THEMES: readonly Theme[] = ["system", "light", "dark"];

export function Appearance() {
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
