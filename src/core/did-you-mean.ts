/**
 * The word of a list that was probably meant; undefined: none is near. `mostEdits`: letters that may differ, by default more of them
 * the longer the word is.
 */
export function didYouMean(word: string, known: Iterable<string>, mostEdits?: number): string | undefined {
  const given = word.slice(0, longestWord).toLowerCase();
  const most = mostEdits ?? (given.length < 4 ? 1 : given.length < 8 ? 2 : 3);
  let best: { name: string; distance: number } | undefined;
  for (const name of known) {
    const distance = distanceOf(given, name.toLowerCase(), most);
    if (distance !== undefined && (!best || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

const longestWord = 60;

/**
 * Distance of a known name from the given one; undefined: too far. A name that begins or ends with it is near, too:
 * `cpu` of `cpus`, `timeZone` of `scheduleTimeZone`, `status` of `lastTaskStatus`.
 */
function distanceOf(given: string, name: string, most: number): number | undefined {
  if (given === name) return 0;
  const edits = editsBetween(given, name, most);
  if (edits !== undefined) return edits;
  if (given.length >= 3 && (name.startsWith(given) || name.endsWith(given))) return most + 1;
  return undefined;
}

/** Letters that are wrong, missing, too many or swapped; undefined: more than `most`. */
function editsBetween(a: string, b: string, most: number): number | undefined {
  if (Math.abs(a.length - b.length) > most) return undefined;
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    [before, last] = [last, row];
  }
  const edits = last[b.length]!;
  return edits <= most ? edits : undefined;
}
