import { wordOf, type tables, type Tone } from './words';

const shapes: Readonly<Record<Tone, string>> = { good: '●', busy: '◐', bad: '✕', warn: '▲', off: '‖', unknown: '○' };

/** A state: a shape, a word and a colour, so that none of them is needed alone. */
export function Badge({ of, state }: { of: keyof typeof tables; state: string | undefined }) {
  const { text, tone } = wordOf(of, state);
  return <Mark tone={tone}>{text}</Mark>;
}

export function Mark({ tone, children }: { tone: Tone; children: React.ReactNode }) {
  return (
    <span className={`mark ${tone}`}>
      <span aria-hidden="true">{shapes[tone]}</span> {children}
    </span>
  );
}
