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

function MenuFrame(props: { label?: string; text: ReactNode; children: ReactNode }) {
  return (
    <Menu.Root>
      <Menu.Trigger className="button" aria-label={props.label}>
        {props.text}
        {props.text !== dots && <span aria-hidden="true">▾</span>}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={4} align="end" className="layer">
          <Menu.Popup className="menu">{props.children}</Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

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
    <MenuFrame label={label} text={text ?? label}>
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
    </MenuFrame>
  );
}

/** A menu that stays open while several things are switched on and off. */
export function MenuOfChecks(props: {
  label: string;
  choices: readonly { label: string; isOn: boolean; onChoose: (isOn: boolean) => void }[];
}) {
  return (
    <MenuFrame text={props.label}>
      {props.choices.map(({ label, isOn, onChoose }) => (
        <Menu.CheckboxItem key={label} className="menu-item" checked={isOn} onCheckedChange={onChoose}>
          <span aria-hidden="true">{isOn ? '☑' : '☐'}</span> {label}
        </Menu.CheckboxItem>
      ))}
    </MenuFrame>
  );
}
