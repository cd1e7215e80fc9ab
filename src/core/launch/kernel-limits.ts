/**
 * Bytes that one text (a variable with its name, or a word), and all of them together, may take: Linux's limits at
 * their usual settings.
 */
export const longestText = 128 * 1024 - 1;
export const longestTogether = 2 * 1024 * 1024 - 64 * 1024;
/** Bytes for each text beside its characters: its end, and a pointer to it. */
const perText = 9;

/** Bytes that a program is given. */
export const variableBytes = (name: string, value: string): number =>
  Buffer.byteLength(name) + Buffer.byteLength(value) + 1;

export const bytesTogether = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size + perText, 0);

/** Can a program be started with these? */
export function fitsKernel(environment: Record<string, string>, words: readonly string[]): boolean {
  const variables = Object.entries(environment).map(([name, value]) => variableBytes(name, value));
  const sizes = [...variables, ...words.map((word) => Buffer.byteLength(word))];
  return sizes.every((size) => size <= longestText) && bytesTogether(sizes) <= longestTogether;
}
