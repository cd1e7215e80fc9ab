import { useQueries } from '@tanstack/react-query';
import { isStatus, muster } from '../api';
import { session } from '../session';
import { useRead } from '../ui/read';

export type Scope = 'WRITE' | 'DEPLOY' | 'APPROVE';

/** What the service asks of who does something: a right on a request, to create some request, or to do the work of administrators. */
export type Need = { readonly requestId: string; readonly scope: Scope } | 'new request' | 'administrator';

const ASKED_AGAIN_MS = 60_000;
/** Of many requests that are chosen at once; of more the service tells when it is done. */
const MOST_ASKED = 100;

/** Asked at the start, and again when somebody signs in: not by each button that comes on the page. */
export const useWhoCalls = () =>
  useRead(
    ['who'],
    async () => {
      const who = await muster.auth.whoCalls({});
      if (who.authenticated) session.accepted();
      return who;
    },
    { freshMs: Number.POSITIVE_INFINITY },
  );

/** Whether what administrators see is offered. */
export const useIsAdministrator = (): boolean => useWhoCalls().data?.administrator ?? false;

const texts: Readonly<Record<Scope | 'new request' | 'administrator', string>> = {
  WRITE: 'You may read this request and not change it',
  DEPLOY: 'You may not deploy this request',
  APPROVE: 'You may not approve deploys of this request',
  'new request': 'You may not create requests',
  administrator: 'This is for administrators',
};

const right = (requestId: string, scope: Scope) => ({
  queryKey: ['rights', requestId, scope],
  queryFn: () =>
    muster.auth.checkCaller({ requestId, scope }).then(
      () => true,
      (cause: unknown) => !isStatus(cause, 403),
    ),
  staleTime: ASKED_AGAIN_MS,
});

/** Why the service refuses something that needs this; until it has said, everything is offered. */
export function useRefusal(need: Need | undefined): string | undefined {
  const who = useWhoCalls().data;
  const { requestId = '', scope = 'WRITE' } = typeof need === 'object' ? need : {};
  const { queryKey, queryFn } = right(requestId, scope);
  const may = useRead(queryKey, queryFn, {
    enabled: typeof need === 'object' && who?.authEnabled === true,
    freshMs: ASKED_AGAIN_MS,
  }).data;
  if (need === 'administrator') return who?.administrator === false ? texts.administrator : undefined;
  if (need === 'new request') return who?.createsRequests === false ? texts['new request'] : undefined;
  return need !== undefined && may === false ? texts[scope] : undefined;
}

/** Those of the requests whose change the service would refuse. */
export function useUnwritable(ids: readonly string[]): ReadonlySet<string> {
  const who = useWhoCalls().data;
  const asked = who?.authEnabled === true && !who.administrator ? ids.slice(0, MOST_ASKED) : [];
  const answers = useQueries({ queries: asked.map((id) => right(id, 'WRITE')) });
  return new Set(asked.filter((_id, index) => answers[index]?.data === false));
}
