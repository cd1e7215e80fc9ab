/** Programs that write base64 break its lines, so white space is left out of account. */
const blanks = /\s+/g;
const padded = /^[A-Za-z0-9+/]*={0,2}$/;

/** Node.js decodes any text, and leaves out what it cannot read. */
export function isBase64(text: string): boolean {
  const bare = text.replaceAll(blanks, '');
  return bare.length % 4 === 0 && padded.test(bare);
}

/** The content of an embedded file, which is one text or several that are written one after the other. */
export const textsOf = (content: string | readonly string[] = []): readonly string[] =>
  typeof content === 'string' ? [content] : content;

/** One base64 text of all the bytes in order. */
export function oneBase64(texts: readonly string[]): string {
  if (texts.length <= 1) return texts[0] ?? '';
  // Each text may end with padding of its own.
  return Buffer.concat(texts.map((text) => Buffer.from(text, 'base64'))).toString('base64');
}

/** A secret of Standard Webhooks: plain, or base64 behind this word. A key of no bytes would sign for anybody. */
export const base64Secret = 'whsec_';
export const isSigningKey = (secret: string): boolean =>
  !secret.startsWith(base64Secret) ||
  (/\w/.test(secret.slice(base64Secret.length)) && isBase64(secret.slice(base64Secret.length)));
