import type { ReactNode } from 'react';
import { Menu } from '@base-ui/react/menu';

export interface MenuChoice {
  readonly label: string;
  readonly onChoose: () => void;
  readonly disabled?: boolean;
  readonly isDangerous?: boolean;
}

/** Says by itself that there is more. */
const dots = '⋯';

export function MenuButton({
  label,
  choices,
  text,
}: {
  label: string;
  choices: readonly MenuChoice[];
  text?: ReactNode;
}) {
  return (
    <Menu.Root>
      <Menu.Trigger className="button" aria-label={label}>
        {text ?? label}
        {text !== dots && <span aria-hidden="true">▾</span>}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className="layer">
          <Menu.Popup className="menu">
            {choices.map((choice) => (
              <Menu.Item
                key={choice.label}
                className={choice.isDangerous ? 'menu-item bad' : 'menu-item'}
                disabled={choice.disabled ?? false}
                onClick={choice.onChoose}
              >
                {choice.label}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
