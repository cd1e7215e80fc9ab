import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { Dialog } from '@base-ui/react/dialog';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { MusterError, ServiceUnreachable } from 'muster-client';
import { isStatus } from '../api';
import { Failure, failureText } from '../ui/read';
import { toast } from '../ui/toasts';
import { formatDuration, parseDuration } from '../ui/duration';
import { useExactTime } from '../ui/time';
import { TimeInput, useTimeLabel } from '../ui/time-field';
import { readAgain } from '../live/read-again';
import { useRefusal } from '../live/rights';
import { session } from '../session';
import { openAction, Values, type Action, type Field } from './action';

type Given = Record<string, string | number | boolean>;

const initially = (fields: readonly Field[]): Given =>
  Object.fromEntries(fields.map((field) => [field.name, field.initial ?? '']));

/** Durations that cannot be read, by field. */
function problemsOf(fields: readonly Field[], given: Given): Record<string, string> {
  const broken = fields.filter(
    ({ kind, name }) => kind === 'duration' && given[name] !== '' && parseDuration(String(given[name])) === undefined,
  );
  return Object.fromEntries(broken.map(({ name }) => [name, 'is no duration, such as 90s, 15m or 2h 30m']));
}

function valuesOf(fields: readonly Field[], given: Given): Values {
  const read = (field: Field) => {
    const value = given[field.name];
    if (field.kind === 'duration') return parseDuration(String(value));
    if (field.kind === 'number' || field.kind === 'time') return value === '' ? undefined : Number(value);
    return typeof value === 'string' ? value.trim() : value;
  };
  return new Values(Object.fromEntries(fields.map((field) => [field.name, read(field)])));
}

/** `children`: dialogs that open over this one. */
export function ActionDialog({ action, children }: { action: Action; children?: ReactNode }) {
  const refusal = useRefusal(action.needs);
  const close = () => openAction.set(undefined);
  return (
    // Who signs in again over this dialog finds it as it was.
    <Dialog.Root open onOpenChange={(open) => !open && session.state.get() === 'in' && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{action.label}</Dialog.Title>
          <Dialog.Description>{refusal ?? action.explains}</Dialog.Description>
          {refusal === undefined ? (
            <ActionForm action={action} close={close} />
          ) : (
            <div className="buttons">
              <Dialog.Close>Close</Dialog.Close>
            </div>
          )}
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function ActionForm({ action, close }: { action: Action; close: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [given, setGiven] = useState<Given>(() => initially(action.fields));
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const problems = { ...problemsOf(action.fields, given), ...problemsTold(failure) };
  const values = valuesOf(action.fields, given);
  const toType = typeof action.typed === 'function' ? action.typed(values) : action.typed;

  const again = () => {
    for (const key of action.outdates ?? []) void readAgain(queries, key);
  };
  const lookAgain = () => {
    setFailure(undefined);
    again();
  };
  async function submit(event: React.FormEvent): Promise<void> {
    event.preventDefault();
    if (busy || Object.keys(problemsOf(action.fields, given)).length > 0) return;
    setBusy(true);
    setFailure(undefined);
    try {
      const answer = await action.run(values);
      again();
      close();
      toast.add({ title: action.done, ...undoOf(action, again) });
      action.afterwards?.(answer, values, (to, search = {}) => void navigate({ to, search: search as never }));
    } catch (cause) {
      setFailure(cause);
      // What it shows then says whether it was done.
      if (cause instanceof ServiceUnreachable && cause.mayBeDone) again();
    } finally {
      setBusy(false);
    }
  }

  return (
    <form onSubmit={(event) => void submit(event)}>
      {action.fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={given[field.name]!}
          problem={problems[field.name]}
          onChange={(value) => setGiven({ ...given, [field.name]: value })}
        />
      ))}
      {action.plan && <Plan plan={action.plan} values={values} given={given} />}
      {toType !== undefined && (
        <label className="field">
          <span>
            Type <code>{toType}</code> to go on
          </span>
          <input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
        </label>
      )}
      {failure !== undefined && <Failure cause={failure} {...(isStatus(failure, 409) && { retry: lookAgain })} />}
      <div className="buttons">
        <button
          type="submit"
          className={action.isDangerous ? 'danger' : 'primary'}
          disabled={busy || (toType !== undefined && typed !== toType)}
        >
          {busy ? 'Working' : action.label}
        </button>
        <Dialog.Close>Cancel</Dialog.Close>
      </div>
    </form>
  );
}

function undoOf({ undo }: Action, again: () => void) {
  if (!undo) return {};
  const onClick = () => {
    undo.run().then(
      () => {
        toast.add({ title: 'Undone' });
        again();
      },
      (cause: unknown) => toast.add({ title: 'Not undone', description: failureText(cause), type: 'bad' }),
    );
  };
  return { actionProps: { children: undo.label, onClick } };
}

const problemsTold = (failure: unknown): Record<string, string> =>
  failure instanceof MusterError
    ? Object.fromEntries(failure.errors.map((each) => [String(each.field).split('.').at(-1), each.message]))
    : {};

function Plan({ plan, values, given }: { plan: NonNullable<Action['plan']>; values: Values; given: Given }) {
  const [shown, setShown] = useState<ReactNode>('Computing the plan');
  const latest = useRef(0);
  // No plan depends on the words that go with it.
  const { message: _words, ...asked } = given;
  const key = JSON.stringify(asked);
  useEffect(() => {
    const turn = ++latest.current;
    const timer = setTimeout(() => {
      plan(values).then(
        (answer) => turn === latest.current && setShown(answer),
        (cause: unknown) => turn === latest.current && setShown(<Failure cause={cause} />),
      );
    }, 300);
    return () => clearTimeout(timer);
    // The values are those of `given`, whose text tells when they are others.
  }, [plan, key]);
  return (
    <section className="plan" aria-label="What will happen" aria-live="polite">
      {shown}
    </section>
  );
}

function FieldInput(props: {
  field: Field;
  value: string | number | boolean;
  problem: string | undefined;
  onChange: (value: string | number | boolean) => void;
}) {
  const { field, value, problem, onChange } = props;
  const id = useId();
  const timeLabel = useTimeLabel(field.label);
  const told = { id, 'aria-describedby': `${id}-help`, 'aria-invalid': problem !== undefined };
  const described = {
    ...told,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  const lasts = parseDuration(String(value)) ?? 0;
  const until = useExactTime(Date.now() + lasts);
  const help =
    field.kind === 'duration' && value !== '' && problem === undefined
      ? `${formatDuration(lasts)}, until ${until}`
      : field.help;
  if (field.kind === 'check')
    return (
      <label className="check">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.target.checked)} />
        <span>{field.label}</span>
        {help !== undefined && <small>{help}</small>}
      </label>
    );
  return (
    <div className="field">
      <label htmlFor={id}>{field.kind === 'time' ? timeLabel : field.label}</label>
      {field.kind === 'choice' ? (
        <select {...described} value={String(value)}>
          {field.choices.map(([each, label]) => (
            <option key={each} value={each}>
              {label}
            </option>
          ))}
        </select>
      ) : field.kind === 'lines' ? (
        <textarea {...described} rows={3} value={String(value)} spellCheck={false} />
      ) : field.kind === 'time' ? (
        <TimeInput
          {...told}
          value={value === '' ? undefined : Number(value)}
          onChange={(at) => onChange(at ?? '')}
          required
        />
      ) : field.kind === 'number' ? (
        <input
          {...described}
          type="number"
          min={field.min}
          max={field.max}
          step={field.step ?? 1}
          value={String(value)}
          required
        />
      ) : (
        <input {...described} value={String(value)} autoComplete="off" list={`${id}-list`} />
      )}
      {field.kind === 'text' && field.suggestions && (
        <datalist id={`${id}-list`}>
          {field.suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      <small id={`${id}-help`} className={problem === undefined ? undefined : 'bad'}>
        {problem ?? help}
      </small>
    </div>
  );
}
