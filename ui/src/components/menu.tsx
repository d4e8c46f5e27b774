import * as Primitive from "@radix-ui/react-dropdown-menu";
import { useRef, type ReactNode } from "react";

interface MenuItem {
  readonly label: string;
  readonly onSelect: () => void;
  readonly isDangerous?: boolean;
}

interface MenuProperties {
  readonly label: string;
  readonly trigger: ReactNode;
  readonly items: readonly MenuItem[];
  readonly className?: string;
}

/** A button with a list of actions. */
export function Menu({ label, trigger, items, className }: MenuProperties) {
  const button = useRef<HTMLButtonElement>(null);
  return (
    <Primitive.Root modal={false}>
      <Primitive.Trigger ref={button} className={className ?? "subtle"} aria-label={label}>
        {trigger}
      </Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content className="menu" align="end" sideOffset={4}>
          {items.map((item) => (
            <Primitive.Item
              key={item.label}
              className={item.isDangerous === true ? "menu-item dangerous" : "menu-item"}
              onSelect={() => {
                // Focus the trigger: a dialog opened here returns the focus to it, and the item no
                // longer exists then.
                button.current?.focus();
                item.onSelect();
              }}
            >
              {item.label}
            </Primitive.Item>
          ))}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
