import type { ExtendedResources } from '../model/deploy.js';

/** Counts of both together, or without the second ones. Names of which nothing is left stay out; undefined: none. */
export function sumOfExtended(
  counts: ExtendedResources | undefined,
  others: ExtendedResources | undefined,
  sign: 1 | -1 = 1,
): ExtendedResources | undefined {
  if (!others) return counts;
  const sum = { ...counts };
  for (const [name, count] of Object.entries(others)) {
    const together = (sum[name] ?? 0) + sign * count;
    if (together === 0) delete sum[name];
    else sum[name] = together;
  }
  return Object.keys(sum).length > 0 ? sum : undefined;
}

/** Name of the first resource of which more is asked for than is free; undefined: there is enough of each. */
export function missingExtended(
  asked: ExtendedResources | undefined,
  free: ExtendedResources | undefined,
): string | undefined {
  for (const name in asked) if (asked[name]! > (free?.[name] ?? 0)) return name;
  return undefined;
}
