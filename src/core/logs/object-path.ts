/*
 * Where the directory that keeps logs has the object of a key: each part of the key is a directory below the one of the part before
 * it, and the last one is the file. Parts that no file can be called are encoded, long ones go over several directories, and
 * directories have a sign at the end of their names: a key may be the beginning of another one.
 */

/** Limit of a name in bytes; signs come on top. */
const longestName = 200;
/** At the end of a directory whose name is a part, or ends one. No part of a key is encoded so. */
const directory = '+';
/** At the end of a directory whose name goes on in the names below. */
const goesOn = '%';
/** At the beginning of the names that go on. */
const continues = '+';
/** A part without characters. */
const empty = '%';

/** The names of the directories and of the file at the end of them. */
export function namesOfKey(key: string): string[] {
  const parts = key.split('/');
  return parts.flatMap((part, index) =>
    namesOf(part === '' ? empty : encodePart(part), index < parts.length - 1 ? directory : ''),
  );
}

/** Names for the bucket, which is one directory without further ones. */
export const namesOfBucket = (bucket: string): string[] => namesOfKey(bucket.replaceAll('/', '_'));

function namesOf(part: string, ending: string): string[] {
  const names: string[] = [];
  let rest = part;
  for (let before = ''; ; before = continues) {
    if (rest.length < longestName) return [...names, before + rest + ending];
    names.push(before + rest.slice(0, longestName) + goesOn);
    rest = rest.slice(longestName);
  }
}

/** Sort text of a key, in the order in which a directory is read: it holds for whole keys and for their beginnings. */
export function orderOfKey(key: string, isWhole = true): string {
  const parts = key.split('/');
  return parts
    .map((part, index) => (part === '' && (isWhole || index < parts.length - 1) ? empty : encodePart(part)))
    .join('/');
}

/** Sort text with which those of all keys below a directory begin. `above`: the one of its parent. */
export const orderOfDirectory = (above: string, name: string): string =>
  orderOfFile(above, name.slice(0, -1)) + (name.endsWith(goesOn) ? '' : '/');

/** As above, of a file. */
export const orderOfFile = (above: string, name: string): string =>
  above + (above === '' || above.endsWith('/') ? name : name.slice(continues.length));

/** The key that sorts so. */
export const keyOfOrder = (order: string): string =>
  order
    .split('/')
    .map((part) => (part === empty ? '' : decodeURIComponent(part)))
    .join('/');

function encodePart(part: string): string {
  let encoded = '';
  for (const byte of new TextEncoder().encode(part)) {
    const sign = String.fromCharCode(byte);
    const isPlain = /[A-Za-z0-9_.~@=, -]/.test(sign) && !(sign === '.' && encoded === '');
    encoded += isPlain ? sign : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}
