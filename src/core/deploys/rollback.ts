import type { Deploy } from '../model/deploy.js';

const suffix = /\.rollback\d+$/;

/**
 * The id under which an earlier deploy is deployed once more: ids are used once. Rolling back to a rollback counts on,
 * so that ids do not grow; one that is too long loses its end.
 */
export function rollbackId(earlierId: string, isUsed: (id: string) => boolean, maxLength: number): string {
  const base = earlierId.replace(suffix, '');
  for (let number = 1; ; number++) {
    const end = `.rollback${number}`;
    const id = `${base.slice(0, Math.max(maxLength - end.length, 0))}${end}`;
    if (!isUsed(id)) return id;
  }
}

/** Repeats a deploy under a new id. The run that came with the first one is not repeated. */
export const redeploy = ({ runImmediately: _once, ...earlier }: Deploy, id: string): Deploy => ({ ...earlier, id });
