import { groupsOfAppliedRequest, ofApplied, parentsOfAppliedRequest, sends } from './call.js';
import { depends, on } from './needs.js';

/** A request, a deploy, or both are sent: as for the operations that take one of the two alone. */
export const apply = depends((call) => {
  if (!sends('request', call)) return on(ofApplied, ['READ', 'DEPLOY']);
  const scopes = sends('deploy', call) ? (['WRITE', 'DEPLOY'] as const) : (['WRITE'] as const);
  return on(ofApplied, scopes, {
    creates: true,
    newGroups: groupsOfAppliedRequest,
    writesNew: true,
    newParents: parentsOfAppliedRequest,
  });
});
