import type { Event } from 'muster-client';

/** Beginning of the key of what a page has read: every read whose key begins so is done again. */
export type ReadKey = readonly [kind: string, ...ids: string[]];

/** What is no longer as it was read, after this event. Types that are not known yet outdate nothing. */
export function outdatedBy(event: Event): readonly ReadKey[] {
  const { requestId = '', taskId, machineId = '' } = event;
  switch (event.type) {
    case 'TASK':
    case 'HEALTH': {
      const ofTask: readonly ReadKey[] = taskId === undefined ? [] : [['task', taskId]];
      const ofFlows: readonly ReadKey[] = event.type === 'TASK' ? [['flows']] : [];
      return [['request', requestId], ['tasks'], ...ofFlows, ...ofTask];
    }
    case 'PENDING':
      return [['request', requestId], ['tasks'], ['flows'], ['state']];
    case 'REQUEST':
      return [['request', requestId], ['tasks'], ['flows'], ['state'], ['schedules']];
    case 'DEPLOY':
      return [['request', requestId], ['deploys'], ['state'], ['troubles'], ['schedules']];
    case 'CRASHLOOP':
      return [['request', requestId], ['troubles']];
    case 'SLAVE':
    case 'RACK':
      return [['machines'], ['machine', machineId], ['state']];
    case 'DISASTER':
      return [['disasters'], ['state']];
    default:
      return [];
  }
}

/** The same for what takes many calls to read: it is done a little later, for all events until then. */
export const outdatedLaterBy = ({ type }: Event): readonly ReadKey[] => (type === 'TASK' ? [['troubles']] : []);
