/*
 * What a task prints, or an operator writes into a message, may hold sequences that move the cursor, rename the window, turn the
 * direction of writing, or stand there unseen. A terminal is shown none of them.
 */

/**
 * Controls of seven and of eight bits, ends of lines that are none to us, and what Unicode shows nothing for, the signs of
 * direction among it. Joiners and selectors stay, which the scripts of many languages and emoji are written with.
 */
const hidden = String.raw`(?![\u200c\u200d\ufe00-\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]`;

const runs = new RegExp(`(?:${hidden})+`, 'gu');
/** Text of others as one line. */
export const plain = (text: string): string => text.replace(runs, ' ');

const driving = new RegExp(String.raw`\u001b\[([\d;]*)m|(?![\n\t])${hidden}`, 'gu');
/** Several lines: their ends and tabs stay, and so do colours that can be read. */
export const terminalText = (text: string): string =>
  text.replace(driving, (_one, codes: string | undefined) => (codes === undefined ? '' : readable(codes)));

/** Lines of a log, made harmless for a terminal: a colour that the task did not end would stay on the terminal. */
export function terminalLog(text: string): string {
  const shown = terminalText(text);
  return shown.includes('\u001b[') ? `${shown.replace(/\n/g, '\u001b[0m\n')}\u001b[0m` : shown;
}

const one = new RegExp(hidden, 'gu');
/** A document or lines of it, each value in it unchanged: what stays as it is in JSON is escaped there. Ends of lines are kept. */
export const terminalJson = (json: string): string =>
  json.replace(one, (sign) =>
    sign === '\n' ? sign : [...Array(sign.length).keys()].map((at) => `\\u${hex(sign.charCodeAt(at))}`).join(''),
  );
const hex = (unit: number): string => unit.toString(16).padStart(4, '0');

/** Weights, underlines and colours of letters, without black and white, which are those of many a background. */
const shownCodes = /^(0*|[1-4]|7|9|2[1-57-9]|3[1-69]|9[0-6])$/;
/** Count of the numbers that follow, by the first of them: one of 256 colours, or red, green and blue. */
const lengths: Record<string, number> = { 5: 2, 2: 4 };

/**
 * Makes a sequence readable by leaving out what hides letters: the word for that, backgrounds, and colours that may be
 * those of a background.
 */
function readable(codes: string): string {
  const given = codes.split(';');
  const kept: string[] = [];
  for (let at = 0; at < given.length; at++) {
    const code = given[at]!;
    if (['38', '48', '58'].includes(code)) at += lengths[given[at + 1] ?? ''] ?? 0;
    else if (shownCodes.test(code)) kept.push(code);
  }
  return kept.length > 0 ? `\u001b[${kept.join(';')}m` : '';
}
