import { useId, useState } from 'react';
import { TimeInput, useTimeLabel } from '../ui/time-field';
import { listToText, mapToText, textToList, textToMap, valueAt, withValue, type Document } from './document';
import type { FieldGroup, FormField } from './fields';

export interface DocumentFormProps {
  readonly document: Document;
  readonly onChange: (document: Document) => void;
  readonly groups: readonly FieldGroup[];
  /** What the service says of fields, by their paths. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The same document as fields and as JSON: what is written in one stands in the other. */
export function DocumentForm(props: DocumentFormProps) {
  const [asJson, setAsJson] = useState(false);
  return (
    <>
      <div className="tabs" role="group" aria-label="Write as">
        <button type="button" className="tab" aria-pressed={!asJson} onClick={() => setAsJson(false)}>
          Form
        </button>
        <button type="button" className="tab" aria-pressed={asJson} onClick={() => setAsJson(true)}>
          JSON
        </button>
      </div>
      {asJson ? (
        <JsonEditor
          label="Document"
          value={props.document}
          rows={30}
          onChange={(value) => props.onChange((value ?? {}) as Document)}
        />
      ) : (
        <Groups {...props} />
      )}
    </>
  );
}

function Groups({ document, onChange, groups, problems }: DocumentFormProps) {
  return groups.map(({ title, fields, isOpen }) => {
    const shown = fields.filter(({ when }) => when === undefined || when(document));
    if (shown.length === 0) return null;
    const isSet = shown.some(
      (field) => valueAt(document, field.path) !== undefined || problemOf(field, problems) !== undefined,
    );
    return (
      <details key={title} open={isOpen === true || isSet} className="group">
        <summary>{title}</summary>
        {shown.map((field) => (
          <FieldOf
            key={field.path}
            field={field}
            value={valueAt(document, field.path)}
            problem={problemOf(field, problems)}
            onChange={(value) => onChange(withValue(document, field.path, value))}
          />
        ))}
      </details>
    );
  });
}

/** What is written as JSON has fields of its own, whose problems are shown with it. */
function problemOf({ path, kind }: FormField, problems: DocumentFormProps['problems']): string | undefined {
  if (problems[path] !== undefined || kind !== 'json') return problems[path];
  return Object.entries(problems).find(([each]) => each.startsWith(`${path}.`) || each.startsWith(`${path}[`))?.[1];
}

interface FieldOfProps {
  readonly field: FormField;
  readonly value: unknown;
  readonly problem: string | undefined;
  readonly onChange: (value: unknown) => void;
}

function FieldOf({ field, value, problem, onChange }: FieldOfProps) {
  const id = useId();
  const { kind, placeholder } = field;
  const timeLabel = useTimeLabel(field.label);
  const label = kind === 'time' ? timeLabel : field.label;
  const help = problem ?? field.help;
  const common = { id, placeholder, 'aria-invalid': problem !== undefined, 'aria-describedby': `${id}-help` };
  if (kind === 'check')
    return (
      <label className="check">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.target.checked || undefined)}
        />{' '}
        {label}
      </label>
    );
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {kind === 'choice' ? (
        <select {...common} value={String(value ?? '')} onChange={(event) => onChange(event.target.value || undefined)}>
          <option value="">–</option>
          {field.choices?.map(([each, text]) => (
            <option key={each} value={each}>
              {text}
            </option>
          ))}
        </select>
      ) : kind === 'time' ? (
        <TimeInput {...common} value={typeof value === 'number' ? value : undefined} onChange={onChange} />
      ) : kind === 'json' ? (
        <JsonEditor label={label} id={id} value={value} rows={4} onChange={onChange} />
      ) : kind === 'lines' || kind === 'map' ? (
        <TextLines
          {...common}
          text={kind === 'map' ? mapToText(value) : listToText(value)}
          onText={(text) => onChange(kind === 'map' ? textToMap(text) : textToList(text))}
        />
      ) : (
        <input
          {...common}
          inputMode={kind === 'number' ? 'decimal' : undefined}
          value={String(value ?? '')}
          onChange={(event) =>
            onChange(kind === 'number' ? numberOf(event.target.value) : event.target.value || undefined)
          }
        />
      )}
      <small id={`${id}-help`} className={problem === undefined ? undefined : 'bad'}>
        {help}
      </small>
    </div>
  );
}

/** What is no number stays as it was typed: the service says what is wrong with it. */
const numberOf = (text: string): number | string | undefined =>
  text === '' ? undefined : /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;

/** Keeps what is typed, empty lines too, while the value has the lines that count. */
function TextLines({
  text,
  onText,
  ...common
}: {
  text: string;
  onText: (text: string) => void;
  id: string;
  placeholder: string | undefined;
}) {
  const [typed, setTyped] = useState(text);
  const onChange = (event: React.ChangeEvent<HTMLTextAreaElement>) => {
    setTyped(event.target.value);
    onText(event.target.value);
  };
  return (
    <textarea
      {...common}
      rows={Math.min(10, Math.max(2, typed.split('\n').length))}
      value={typed}
      onChange={onChange}
      spellCheck={false}
    />
  );
}

/** Text that is taken over while it is JSON; until then it says where it is not. */
export function JsonEditor(props: {
  label: string;
  id?: string;
  value: unknown;
  rows: number;
  onChange: (value: unknown) => void;
}) {
  const [typed, setTyped] = useState(() => (props.value === undefined ? '' : JSON.stringify(props.value, null, 2)));
  const [problem, setProblem] = useState<string>();
  const onChange = (event: React.ChangeEvent<HTMLTextAreaElement>) => {
    const text = event.target.value;
    setTyped(text);
    try {
      props.onChange(text.trim() === '' ? undefined : JSON.parse(text));
      setProblem(undefined);
    } catch (cause) {
      setProblem(cause instanceof Error ? cause.message : String(cause));
    }
  };
  return (
    <>
      <textarea
        className="json"
        id={props.id}
        aria-label={props.label}
        aria-invalid={problem !== undefined}
        rows={props.rows}
        value={typed}
        onChange={onChange}
        spellCheck={false}
      />
      {problem !== undefined && <small className="bad">{problem}</small>}
    </>
  );
}
