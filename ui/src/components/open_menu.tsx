import * as Primitive from "@radix-ui/react-dropdown-menu";
import { useRef } from "react";
import { Link } from "wouter";

import { Icon } from "../icons/icon.tsx";
import type { MenuProperties } from "./menu.tsx";

/** A menu that has been used, open at first. */
export default function OpenMenu({
  label,
  tooltip,
  header,
  trigger,
  items,
  className,
}: MenuProperties) {
  const button = useRef<HTMLButtonElement>(null);
  return (
    <Primitive.Root modal={false} defaultOpen>
      <Primitive.Trigger
        ref={button}
        className={className ?? "subtle"}
        aria-label={label}
        data-tooltip={tooltip}
      >
        {trigger}
      </Primitive.Trigger>
      <Primitive.Portal container={document.getElementById("content")}>
        <Primitive.Content className="menu" align="end" sideOffset={6} collisionPadding={8}>
          {header !== undefined && (
            <Primitive.Label className="menu-header">{header}</Primitive.Label>
          )}
          {items.map((item) => {
            const content = (
              <>
                {item.icon !== undefined && <Icon name={item.icon} />}
                {item.label}
              </>
            );
            const onSelect = () => {
              // Focus the trigger: a dialog opened here returns the focus to it, and the item no
              // longer exists then.
              button.current?.focus();
              item.onSelect?.();
            };
            const kind = item.isDangerous === true ? "menu-item dangerous" : "menu-item";
            return (
              <Primitive.Item
                key={item.label}
                className={kind}
                onSelect={onSelect}
                {...(item.address === undefined ? {} : { asChild: true })}
              >
                {item.address === undefined ? (
                  content
                ) : (
                  <Link
                    href={item.address}
                    aria-current={item.isCurrent === true ? "page" : undefined}
                  >
                    {content}
                  </Link>
                )}
              </Primitive.Item>
            );
          })}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
