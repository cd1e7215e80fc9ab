import { isStatus, muster } from '../api';
import { useRead } from '../ui/read';

export type Scope = 'WRITE' | 'DEPLOY';

/** What the caller may do with this request, as the service says; until it has said, everything is offered. */
export function useRights(requestId: string): (scope: Scope) => boolean {
  const may = (scope: Scope) =>
    muster.auth.checkCaller({ requestId, scope }).then(
      () => true,
      (cause: unknown) => !isStatus(cause, 401, 403),
    );
  const read = useRead(['rights', requestId], async () => ({ WRITE: await may('WRITE'), DEPLOY: await may('DEPLOY') }));
  return (scope) => read.data?.[scope] ?? true;
}

export const refusedText: Readonly<Record<Scope, string>> = {
  WRITE: 'You may read this request and not change it',
  DEPLOY: 'You may not deploy this request',
};
