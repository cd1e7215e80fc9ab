/** Name of an extended resource: a domain, which is not one of Kubernetes itself, and a word. */
const extendedName =
  /^(?!(?:[a-z0-9.-]+\.)?kubernetes\.io\/)[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
export const isExtendedName = (name: string): boolean => extendedName.test(name);

export const mostExtendedNames = 100;
/** Of one resource. */
export const mostExtendedCount = 1_000_000;
export const extendedRule = `must be a map of at most ${mostExtendedNames} names such as example.com/gpu to whole numbers from 1 to ${mostExtendedCount}`;

export const isExtendedCount = (count: unknown): boolean =>
  Number.isInteger(count) && (count as number) >= 1 && (count as number) <= mostExtendedCount;
