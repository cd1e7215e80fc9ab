/** JSON writes it as PostgreSQL reads it. undefined is NULL, as it is to the driver, which is the faster one with dates. */
const isSame = (item: unknown): boolean =>
  typeof item === 'string' || item == null || typeof item === 'boolean' || Number.isFinite(item);

/**
 * Characters that JSON writes in a way of its own, control characters and halves of characters; and some backslashes,
 * which look so.
 */
const ownOfJson = /\\[^"\\]/;

/**
 * An array as the text that PostgreSQL reads; undefined: this one is left to the driver. The driver puts together element by
 * element what the engine writes as JSON in one go, and for most arrays the two differ in their brackets only.
 */
export function arrayText(items: readonly unknown[]): string | undefined {
  if (!items.every(isSame)) return undefined;
  const json = JSON.stringify(items);
  return ownOfJson.test(json) ? undefined : `{${json.slice(1, -1)}}`;
}
