import { HttpErrorException } from '../raw/http-error.js';
import { Unreadable } from '../raw/failures.js';
import type { RestResponse } from '../raw/message.js';

// What every listener does around a server: the path in front of it, and problems that it never gets to see.

/** `''`, or a slash in front and none behind. */
export const basePathOf = (path = '') => {
  const trimmed = path.replace(/^\/+|\/+$/g, '');
  return trimmed === '' ? '' : `/${trimmed}`;
};

/** The target behind the base path; undefined outside of it. */
export function withoutBase(target: string, base: string): string | undefined {
  if (base === '') return target;
  if (!target.startsWith(base)) return undefined;
  const rest = target.slice(base.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : undefined;
}

export const outside = new HttpErrorException(404, 'No operation has this path').toResponse();

export const problemResponse = (problem: unknown): RestResponse =>
  (problem instanceof Unreadable
    ? new HttpErrorException(400, problem.message)
    : new HttpErrorException(500, 'Internal server error')
  ).toResponse();
