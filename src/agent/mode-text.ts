const kinds: Record<number, string> = {
  0o140000: 's',
  0o120000: 'l',
  0o060000: 'b',
  0o040000: 'd',
  0o020000: 'c',
  0o010000: 'p',
};

/** A file's mode as the ten characters of a directory listing, such as "drwxr-xr-x". */
export function modeText(mode: number): string {
  const triple = (shift: number, special: boolean, letter: string) => {
    const bits = mode >> shift;
    const last = special ? (bits & 1 ? letter : letter.toUpperCase()) : bits & 1 ? 'x' : '-';
    return `${bits & 4 ? 'r' : '-'}${bits & 2 ? 'w' : '-'}${last}`;
  };
  return [
    kinds[mode & 0o170000] ?? '-',
    triple(6, (mode & 0o4000) !== 0, 's'),
    triple(3, (mode & 0o2000) !== 0, 's'),
    triple(0, (mode & 0o1000) !== 0, 't'),
  ].join('');
}
