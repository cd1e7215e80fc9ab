import { groupInKey } from './key-pattern.js';

/** Parts of a task in the keys of its files. */
export interface KeyOwner {
  requestId: string;
  group: string;
  tag: string;
  deployId: string;
  host: string;
  taskId: string;
}

/** The part of a key pattern that is known before there is a file. */
export function keyPatternOfTask(pattern: string, owner: KeyOwner): string {
  const known: Record<string, string> = { ...owner, group: groupInKey(owner.group) };
  return pattern.replace(/%(requestId|group|tag|deployId|host|taskId)/g, (whole, name: string) => known[name] ?? whole);
}

/** Parts of a file in the key under which it is stored. */
export interface KeyFacts {
  /** Without its directory. */
  name: string;
  /** Time of its last change, in epoch milliseconds. */
  changedAt: number;
  /** Its position among the files that are uploaded together, from 0. */
  index: number;
  /** Random text. */
  guid: string;
  host: string;
}

/** Stores take 1024 bytes; a number may have to go to the end. */
const longestKeyBytes = 1_000;

/** The rest of it. Dates are in UTC. */
export function objectKey(pattern: string, facts: KeyFacts): string {
  const name = printable(facts.name);
  const dot = name.lastIndexOf('.');
  const [date = '', time = ''] = new Date(facts.changedAt).toISOString().split('T');
  const [year = '', month = '', day = ''] = date.split('-');
  const values: Record<string, string | undefined> = {
    filename: name,
    fileext: dot === -1 ? undefined : name.slice(dot),
    guid: facts.guid,
    host: facts.host,
    Y: year,
    m: month,
    d: day,
    H: time.slice(0, 2),
    s: String(Math.floor(facts.changedAt)),
    index: String(facts.index),
  };
  // All at once: a file may be called '%guid'.
  const key = pattern.replace(
    /%(filename|fileext|guid|host|index|[YmdHs])/g,
    (all, known: string) => values[known] ?? all,
  );
  return cut(key, longestKeyBytes);
}

/** Another key that begins the same, for a file whose key is taken. */
export const numberedKey = (key: string, count: number): string => (count === 0 ? key : `${key}_${count}`);

/** Lists of keys cannot show these characters. */
// oxlint-disable-next-line no-control-regex
const printable = (name: string): string => name.replaceAll(/[\u0000-\u001f\u007f\ufffe\uffff]/g, '_');

function cut(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  if (encoded.length <= bytes) return text;
  return new TextDecoder().decode(encoded.subarray(0, bytes)).replace(/\ufffd$/, '');
}
