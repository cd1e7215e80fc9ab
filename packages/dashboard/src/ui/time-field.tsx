import { useZone } from './time';
import { fieldTime, timeOfField } from './time-format';

/** A field for a point in time, in epoch milliseconds as text, by the clock of the zone that the page shows. */
export function TimeField(props: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  const { value } = props;
  return (
    <label>
      {useTimeLabel(props.label)}{' '}
      <TimeInput
        value={value !== undefined && /^\d{1,14}$/.test(value) ? Number(value) : undefined}
        onChange={(at) => props.onChange(at === undefined ? undefined : String(at))}
      />
    </label>
  );
}

/** The label of such a field: it names the zone. */
export const useTimeLabel = (label: string): string => `${label} (${useZone() ?? 'local'})`;

/** The field alone, for epoch milliseconds. */
export function TimeInput({
  value,
  onChange,
  ...common
}: {
  id?: string;
  required?: boolean;
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}) {
  const zone = useZone();
  return (
    <input
      {...common}
      type="datetime-local"
      value={value === undefined ? '' : fieldTime(value, zone)}
      onChange={({ target }) => onChange(target.value === '' ? undefined : timeOfField(target.value, zone))}
    />
  );
}
