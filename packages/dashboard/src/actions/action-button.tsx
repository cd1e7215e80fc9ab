import { useRefusal } from '../live/rights';
import { MenuButton } from '../ui/menu';
import { openAction, type Action } from './action';

/** Opens the dialog of an action; where the service would refuse it, it stays to be seen and says why. */
export function ActionButton({ action, className, label }: { action: Action; className?: string; label?: string }) {
  const refusal = useRefusal(action.needs);
  return (
    <button
      type="button"
      className={className}
      disabled={refusal !== undefined}
      title={refusal}
      onClick={() => openAction.set(action)}
    >
      {label ?? action.label}
    </button>
  );
}

/** Actions that need the same of who does them. */
export function ActionMenu(props: { label: string; text: string; actions: readonly Action[] }) {
  const refusal = useRefusal(props.actions[0]?.needs);
  return (
    <MenuButton
      label={props.label}
      text={props.text}
      choices={props.actions.map((action) => ({
        label: action.label,
        onChoose: () => openAction.set(action),
        isDangerous: action.isDangerous ?? false,
        disabled: refusal !== undefined,
      }))}
    />
  );
}
