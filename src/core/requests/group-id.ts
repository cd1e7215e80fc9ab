import type { FieldError } from '../field-error.js';

/** Ids of groups are parts of paths, so only what needs no escaping there may be in them. */
export function refuseGroupId(id: string, limits: { maxRequestIdSize: number }): FieldError | undefined {
  if (id === '') return { field: 'id', rule: 'required', message: 'id is required' };
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
    return { field: 'id', rule: 'pattern', message: `id '${id}' may have only letters, digits, '_' and '-'` };
  }
  if (id.length >= limits.maxRequestIdSize) {
    return { field: 'id', rule: 'length', message: `id must be shorter than ${limits.maxRequestIdSize} characters` };
  }
  return undefined;
}
