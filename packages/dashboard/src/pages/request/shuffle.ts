import { muster } from '../../api';
import type { Action } from '../../actions/action';
import { useRead } from '../../ui/read';

/** Tasks of a request that has opted out are not moved to spread load. */
export function useShuffleAction(requestId: string): readonly Action[] {
  const optedOut = useRead(['request', requestId, 'shuffle'], () => muster.shuffle.has({ requestId }));
  if (optedOut.data === undefined) return [];
  const set = (out: boolean) => (out ? muster.shuffle.add({ requestId }) : muster.shuffle.remove({ requestId }));
  return [
    {
      id: 'shuffle',
      needs: { requestId, scope: 'WRITE' },
      label: optedOut.data ? 'Let tasks be shuffled' : 'Opt out of shuffling',
      explains: optedOut.data
        ? `Tasks of ${requestId} may be moved to spread load.`
        : `Tasks of ${requestId} are not moved to spread load.`,
      fields: [],
      run: () => set(!optedOut.data),
      done: 'Done',
      undo: { label: 'Undo', run: () => set(optedOut.data) },
      outdates: [['request', requestId]],
    },
  ];
}
