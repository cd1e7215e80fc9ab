/** What must not have changed between a plan and the call that carries it out. */
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

/** What is different from the state that `checkIndex` names, in words; undefined: it is no check index. */
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
