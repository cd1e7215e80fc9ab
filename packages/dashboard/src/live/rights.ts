import { isStatus, muster } from '../api';
import { session } from '../session';
import { useRead } from '../ui/read';

export type Scope = 'WRITE' | 'DEPLOY';

/** What the service asks of who does something: a right on a request, or that they do the work of administrators. */
export type Need = { readonly requestId: string; readonly scope: Scope } | 'administrator';

const ASKED_AGAIN_MS = 60_000;

export const useWhoCalls = () =>
  useRead(['who'], async () => {
    const who = await muster.auth.whoCalls({});
    if (who.authenticated) session.accepted();
    return who;
  });

/** Whether what administrators see is offered. */
export const useIsAdministrator = (): boolean => useWhoCalls().data?.administrator ?? false;

const texts: Readonly<Record<Scope | 'administrator', string>> = {
  WRITE: 'You may read this request and not change it',
  DEPLOY: 'You may not deploy this request',
  administrator: 'This is for administrators',
};

/** Why the service refuses something that needs this; until it has said, everything is offered. */
export function useRefusal(need: Need | undefined): string | undefined {
  const who = useWhoCalls().data;
  const { requestId = '', scope = 'WRITE' } = typeof need === 'object' ? need : {};
  const mayDo = () =>
    muster.auth.checkCaller({ requestId, scope }).then(
      () => true,
      (cause: unknown) => !isStatus(cause, 403),
    );
  const may = useRead(['rights', requestId, scope], mayDo, {
    enabled: typeof need === 'object' && who?.authEnabled === true,
    freshMs: ASKED_AGAIN_MS,
  }).data;
  if (need === 'administrator') return who?.administrator === false ? texts.administrator : undefined;
  return need !== undefined && may === false ? texts[scope] : undefined;
}
