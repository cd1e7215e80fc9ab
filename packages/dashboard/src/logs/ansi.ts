export interface Span {
  readonly text: string;
  /** Classes of its colours and weight. */
  readonly style: string;
}

const [escape, bell] = [String.raw`\u001b`, String.raw`\u0007`];
/** What drives a terminal: colours, other sequences, and texts for its title. */
const sequence = new RegExp(
  [
    String.raw`${escape}\[([\d;]*)m`,
    String.raw`${escape}\[[\d;?]*[A-Za-z]`,
    String.raw`${escape}\][^${bell}${escape}]*(?:${bell}|${escape}\\)`,
    String.raw`${escape}[@-_]`,
  ].join('|'),
  'g',
);
const control = /(?![\t\n])\p{Cc}/gu;

/** Characters that move a terminal are shown as signs, so that a line cannot hide what stands in it. */
const visible = (text: string): string =>
  text.replaceAll(control, (character) => {
    if (character === '\r') return '';
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd';
  });

/** The 16 colours and bold; other sequences are left out. */
export function spansOf(line: string): readonly Span[] {
  if (!line.includes('\u001b')) return [{ text: visible(line), style: '' }];
  const spans: Span[] = [];
  let [bold, front, back] = ['', '', ''];
  let at = 0;
  const push = (text: string) => {
    if (text !== '') spans.push({ text: visible(text), style: [bold, front, back].filter(Boolean).join(' ') });
  };
  for (const match of line.matchAll(sequence)) {
    push(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[1] === undefined) continue;
    for (const code of match[1].split(';').map(Number)) {
      if (code === 0) [bold, front, back] = ['', '', ''];
      else if (code === 1) bold = 'ansi-bold';
      else if (code === 22) bold = '';
      else if (code === 39) front = '';
      else if (code === 49) back = '';
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) front = `ansi-${code % 10}`;
      else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) back = `ansi-bg-${code % 10}`;
    }
  }
  push(line.slice(at));
  return spans;
}

export const plainText = (line: string): string => visible(line.replaceAll(sequence, ''));

const levels: readonly (readonly [RegExp, string])[] = [
  [/\b(ERROR|FATAL|SEVERE|CRITICAL|PANIC)\b|^Traceback|\bException\b/, 'error'],
  [/\bWARN(ING)?\b/, 'warn'],
];

export const levelOf = (line: string): string | undefined => levels.find(([pattern]) => pattern.test(line))?.[1];
