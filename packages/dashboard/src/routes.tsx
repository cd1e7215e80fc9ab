import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type AnyRoute,
} from '@tanstack/react-router';
import { part } from './ui/part';
import { Boundary, Loading } from './ui/read';
import { startPage } from './live/saved-views';
import { NotFound } from './pages/not-found';
import { RequestsPage } from './pages/requests/requests-page';
import { Shell } from './shell/shell';
import { oldPaths } from './old-links';
import { basePath, view } from './view';

/** Every filter of a page is text in its address: a link shows the same to somebody else. */
export type Search = Readonly<Record<string, string | undefined>>;

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const asText = (search: Record<string, unknown>): Search =>
  Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]));

const page = <P extends string>(path: P, load: () => Promise<{ Page: React.ComponentType }>) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: asText,
    component: lazyRouteComponent(part(load), 'Page'),
  });

const pages = [
  createRoute({ getParentRoute: () => root, path: '/requests', validateSearch: asText, component: RequestsPage }),
  page('/requests/new', () => import('./pages/request/request-form')),
  page('/requests/edit/$requestId', () => import('./pages/request/request-form')),
  page('/request/$requestId', () => import('./pages/request/request-page')),
  page('/request/$requestId/deploy', () => import('./pages/deploy/deploy-form')),
  page('/request/$requestId/deploy/$deployId', () => import('./pages/deploy/deploy-page')),
  page('/request/$requestId/run/$runId', () => import('./pages/request/run-page')),
  page('/request/$requestId/instance/$instanceNo', () => import('./pages/request/instance-page')),
  page('/request/$requestId/tail/$', () => import('./pages/task/tail-page')),
  page('/request/$requestId/task-search', () => import('./pages/tasks/search-page')),
  page('/task/$taskId', () => import('./pages/task/task-page')),
  page('/task/$taskId/files/$', () => import('./pages/task/files-page')),
  page('/task/$taskId/tail/$', () => import('./pages/task/tail-page')),
  page('/tail/$', () => import('./pages/task/tail-page')),
  page('/flows/$flowId', () => import('./pages/flows/flow-page')),
  page('/tasks', () => import('./pages/tasks/tasks-page')),
  page('/task-search', () => import('./pages/tasks/search-page')),
  page('/schedules', () => import('./pages/schedules/schedules-page')),
  page('/slaves', () => import('./pages/machines/machines-page')),
  page('/racks', () => import('./pages/machines/racks-page')),
  page('/utilization', () => import('./pages/machines/utilization-page')),
  page('/group/$groupId', () => import('./pages/requests/group-page')),
  page('/group/$groupId/$requestId', () => import('./pages/requests/group-page')),
  page('/status', () => import('./pages/status/status-page')),
  page('/groups', () => import('./pages/requests/groups-page')),
  page('/crash-loops', () => import('./pages/status/crash-loops-page')),
  page('/activity', () => import('./pages/status/activity-page')),
  page('/mail', () => import('./pages/status/mail-page')),
  page('/disasters', () => import('./pages/status/disasters-page')),
  page('/webhooks', () => import('./pages/status/webhooks-page')),
  page('/tokens', () => import('./pages/status/tokens-page')),
  page('/audit', () => import('./pages/status/audit-page')),
  page('/signed-in', () => import('./pages/signed-in')),
  page('/preferences', () => import('./pages/status/preferences-page')),
] satisfies AnyRoute[];

/** Addresses of older pages lead to the page that has taken their place. */
const old = createRoute({
  getParentRoute: () => root,
  path: '$',
  beforeLoad: ({ location }) => {
    if (/^\/api-docs\/?$/.test(location.pathname)) {
      globalThis.location.replace(view.apiDocs);
      return;
    }
    const target = oldPaths(location.pathname, location.searchStr);
    if (target !== undefined) throw redirect({ href: target, replace: true });
  },
  component: NotFound,
});

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: async () => {
    const [to = '', search] = (await startPage()).split('?');
    throw redirect({ to, search: Object.fromEntries(new URLSearchParams(search)) as never, replace: true });
  },
});

export const router = createRouter({
  routeTree: root.addChildren([home, ...pages, old]),
  basepath: basePath,
  defaultPreload: 'intent',
  defaultPendingComponent: Loading,
  defaultErrorComponent: ({ error }) => (
    <Boundary>
      <Rethrow error={error} />
    </Boundary>
  ),
  scrollRestoration: true,
  // Values stay texts: an id of digits is no number.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
  },
});

function Rethrow({ error }: { error: unknown }): never {
  throw error;
}
