/** A piece of a line: text, which may lead somewhere. */
export type InlineText = string | { text: string; href?: string; strong?: boolean };

export type Block =
  | { kind: 'paragraph'; pieces: InlineText[] }
  /** Names and what they stand for. */
  | { kind: 'facts'; rows: (readonly [name: string, ...pieces: InlineText[]])[] }
  | { kind: 'table'; title: string; head: string[]; rows: string[][] }
  /** The end of a file, or why there is none. */
  | { kind: 'file'; name: string; href?: string; text: string | undefined; note: string };

/** Content of a mail. HTML and text are made of it, so that neither says more than the other. */
export interface MailDocument {
  subject: string;
  title: string;
  colour: string;
  blocks: Block[];
}

/** Settings that every mail is rendered with. */
export interface MailStyle {
  /** Name of the installation, in subjects and at the end. */
  product: string;
  /** Address of the page; absent: there are no links. */
  uiBase?: string;
  /** As the settings say. */
  time: (at: number) => string;
}

const colours = /(?![\n\t])\p{Cc}\[[\d;:?]*[ -/]*[@-~]/gu;
const controls = /(?![\n\t])[\p{Cc}\p{Cs}\p{Bidi_Control}]/gu;

/** Several lines of anything: what would steer a terminal, or turn the direction of the text, is taken out. */
export const readable = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(colours, '').replaceAll(controls, '\u{fffd}');

/** One line of anything, with an end. */
export function oneLine(text: string, most = 300): string {
  const line = readable(text.slice(0, most * 4))
    .replaceAll(/\s+/g, ' ')
    .trim();
  const signs = [...line];
  return signs.length > most ? `${signs.slice(0, most - 1).join('')}…` : line;
}

const part = (text: string): string => encodeURIComponent(text);

export const requestLink = ({ uiBase }: MailStyle, requestId: string): string | undefined =>
  uiBase && `${uiBase}/request/${part(requestId)}`;
export const taskLink = ({ uiBase }: MailStyle, taskId: string): string | undefined =>
  uiBase && `${uiBase}/task/${part(taskId)}`;
export const tailLink = (style: MailStyle, taskId: string, file: string): string | undefined => {
  const task = taskLink(style, taskId);
  return task && `${task}/tail/${file.split('/').map(part).join('/')}`;
};

/** 1,000 and more: how long something took, in its two greatest units. */
export function duration(millis: number): string {
  if (millis < 1_000) return `${Math.max(0, Math.round(millis))} ms`;
  const seconds = Math.round(millis / 1_000);
  const units = [
    [Math.floor(seconds / 86_400), 'day'],
    [Math.floor(seconds / 3_600) % 24, 'hour'],
    [Math.floor(seconds / 60) % 60, 'minute'],
    [seconds % 60, 'second'],
  ] as const;
  const first = units.findIndex(([count]) => count > 0);
  return units
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}${count === 1 ? '' : 's'}`)
    .join(' ');
}

export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;
