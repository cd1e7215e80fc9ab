import { canonical } from './deploys.js';

type Members = Record<string, unknown>;

/** What the server fills in where a member is left out. */
const defaults: Members = { scheduleType: 'CRON' };

/**
 * The members of a request or deploy by which what is wanted differs from what is there, as dotted names. Members that are empty,
 * false or zero, and those that have their default, count as left out.
 */
export function differences(wanted: object, present: object): string[] {
  const ours = flat(wanted);
  const theirs = flat(present);
  // The server derives one from the other.
  if ('schedule' in wanted) for (const each of [ours, theirs]) each.delete('quartzSchedule');
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  return [...names].filter((name) => ours.get(name) !== theirs.get(name)).sort();
}

function flat(value: object, before = '', found = new Map<string, string>()): Map<string, string> {
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    const path = before === '' ? name : `${before}.${name}`;
    if (isLeftOut(path, member)) continue;
    if (typeof member === 'object' && !Array.isArray(member)) flat(member as object, path, found);
    else found.set(path, isText(path) ? String(member) : canonical(member));
  }
  return found;
}

/** A map of text may have been written with numbers. */
const isText = (path: string): boolean => /^(env|taskEnv|labels|taskLabels|metadata)\./.test(path);

function isLeftOut(path: string, member: unknown): boolean {
  if (member === undefined || member === null || member === defaults[path]) return true;
  if (isText(path)) return false;
  if (path === 'instances') return member === 1;
  if (Array.isArray(member)) return member.length === 0;
  return member === false || member === 0;
}
