import type { FieldError } from '../field-error.js';
import { reservedNameProblem } from '../ids.js';

/** State that must not have changed between a plan and the call that carries it out. */
export interface CheckedState {
  version: number;
  /** Epoch milliseconds of the last change: a request that is made anew counts its versions from 1 again. */
  changedAt: number;
  activeDeployId?: string;
  pendingDeployId?: string;
}

/** Names the state of a request and of its deploys. '~' stands in no id, and needs no escape in an address. */
export const checkIndexOf = ({ version, changedAt, activeDeployId, pendingDeployId }: CheckedState): string =>
  [version, changedAt, activeDeployId ?? '', pendingDeployId ?? ''].join('~');

/** Differences from the state that `checkIndex` names, in words; undefined: it is no check index. */
export function changedSince(checkIndex: string, state: CheckedState): string[] | undefined {
  const [version, changedAt, activeDeployId, pendingDeployId, ...more] = checkIndex.split('~');
  if (!/^\d+$/.test(version ?? '') || !/^\d+$/.test(changedAt ?? '')) return undefined;
  if (activeDeployId === undefined || pendingDeployId === undefined || more.length > 0) return undefined;
  const changes: string[] = [];
  if (Number(version) !== state.version) changes.push(`its version was ${version} and is ${state.version}`);
  else if (Number(changedAt) !== state.changedAt) changes.push('it was deleted and made anew');
  const deploy = (which: string, was: string, is = ''): void => {
    if (was !== is) changes.push(`the ${which} deploy was ${named(was)} and is ${named(is)}`);
  };
  deploy('active', activeDeployId, state.activeDeployId);
  deploy('pending', pendingDeployId, state.pendingDeployId);
  return changes;
}

const named = (deployId: string): string => (deployId === '' ? 'none' : `'${deployId}'`);

/** Ids of groups are parts of paths, so only what needs no escaping there may be in them. */
export function refuseGroupId(id: string, limits: { maxRequestIdSize: number }): FieldError | undefined {
  if (id === '') return { field: 'id', rule: 'required', message: 'id is required' };
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
    return { field: 'id', rule: 'pattern', message: `id '${id}' may have only letters, digits, '_' and '-'` };
  }
  if (id.length >= limits.maxRequestIdSize) {
    return { field: 'id', rule: 'length', message: `id must be shorter than ${limits.maxRequestIdSize} characters` };
  }
  return reservedNameProblem('id', id)[0];
}
