/** A point in time, in epoch milliseconds as text, by the clock of the browser. */
export function TimeField(props: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <label>
      {props.label}{' '}
      <input
        type="datetime-local"
        value={localOf(props.value)}
        onChange={({ target }) =>
          props.onChange(target.value === '' ? undefined : String(new Date(target.value).getTime()))
        }
      />
    </label>
  );
}

function localOf(text: string | undefined): string {
  if (text === undefined) return '';
  const at = new Date(Number(text));
  return Number.isNaN(at.getTime())
    ? ''
    : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
