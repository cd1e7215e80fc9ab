import { useEffect, useId, useRef, useState } from 'react';
import { useZone } from './time';
import { isoTime, timeOfField } from './time-format';

const noTime = 'is no time: write it as 2026-01-31 or 2026-01-31T12:00';

/**
 * A filter by a point in time, in epoch milliseconds as text, by the clock of the zone that the page shows. It is told when the field is
 * left or Enter is pressed, so that no read begins for half a time.
 */
export function TimeField(props: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  const { value, onChange } = props;
  const id = useId();
  const [given, setGiven] = useState<{ at: number | undefined }>();
  useEffect(() => setGiven(undefined), [value]);
  const tell = () => given && onChange(given.at === undefined ? undefined : String(given.at));
  const ofAddress = value !== undefined && /^\d{1,14}$/.test(value) ? Number(value) : undefined;
  return (
    <span className="time-field" onBlur={tell} onKeyDown={({ key }) => key === 'Enter' && tell()}>
      <label htmlFor={id}>{useTimeLabel(props.label)}</label>
      <TimeInput id={id} value={given ? given.at : ofAddress} onChange={(at) => setGiven({ at })} />
    </span>
  );
}

/** The label of such a field: it names the zone. */
export const useTimeLabel = (label: string): string => `${label} (${useZone() ?? 'local'})`;

/** The field alone, for epoch milliseconds. What is no time changes nothing, is told beside it, and holds its form back. */
export function TimeInput({
  value,
  onChange,
  'aria-describedby': describedBy = '',
  'aria-invalid': isInvalid = false,
  ...common
}: {
  id?: string;
  required?: boolean;
  'aria-describedby'?: string;
  'aria-invalid'?: boolean;
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}) {
  const zone = useZone();
  const input = useRef<HTMLInputElement>(null);
  const problemId = useId();
  const [typed, setTyped] = useState<{ text: string; value: number | undefined }>();
  // What was typed stands for the value that it gave; another value came from elsewhere.
  const text = typed?.value === value ? typed?.text : undefined;
  const isWrong = text !== undefined && text.trim() !== '' && timeOfField(text, zone) === undefined;
  useEffect(() => input.current?.setCustomValidity(isWrong ? noTime : ''), [isWrong]);
  const change = (next: string) => {
    const at = timeOfField(next, zone);
    const isTold = at !== undefined || next.trim() === '';
    setTyped({ text: next, value: isTold ? at : value });
    if (isTold) onChange(at);
  };
  return (
    <>
      <input
        {...common}
        ref={input}
        className="time"
        aria-describedby={`${describedBy} ${problemId}`.trim()}
        aria-invalid={isInvalid || isWrong}
        value={text ?? (value === undefined ? '' : isoTime(value, zone))}
        placeholder="YYYY-MM-DDThh:mm"
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => change(target.value)}
        onBlur={() => isWrong || setTyped(undefined)}
      />
      <small id={problemId} className="bad" role="status">
        {isWrong && `${text} ${noTime}`}
      </small>
    </>
  );
}
