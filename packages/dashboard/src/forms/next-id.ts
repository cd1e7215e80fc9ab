/** The id after this one: its last number counted on, or -2 behind it. */
export function nextId(id: string): string {
  const match = /^(.*?)(\d+)$/.exec(id);
  if (!match) return `${id}-2`;
  const [, begin = '', digits = '0'] = match;
  return `${begin}${String(BigInt(digits) + 1n).padStart(digits.length, '0')}`;
}
