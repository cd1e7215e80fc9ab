/** So many lines in a row, to the letter but for their indentation. */
const run = 6;
/** A line that stands in more places is a form of the language or of a library. */
const most = 8;
/** Imports, and lines without a word: they say nothing of their own. */
const isThin = (line) => /^import\b|^\} from |^\W*$/.test(line);

/** Pairs of program files that share six or more lines in a row. */
export function duplicatesOf(program) {
  const places = new Map();
  for (const { path, text } of program) {
    const lines = text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => !isThin(line));
    for (let first = 0; first + run <= lines.length; first++) {
      const key = lines.slice(first, first + run).join('\n');
      places.set(key, (places.get(key) ?? new Set()).add(path));
    }
  }
  const pairs = new Set();
  for (const found of places.values()) {
    const paths = [...found].sort();
    if (paths.length > most) continue;
    for (const [index, one] of paths.entries()) {
      for (const other of paths.slice(index + 1)) pairs.add(`${one} ~ ${other}`);
    }
  }
  return [...pairs].sort();
}
