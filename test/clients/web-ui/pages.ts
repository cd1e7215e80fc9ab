import { machines, patiently, type Scene } from './scene.js';

/** A page of the UI: its address below /ui, and what it shows of what there is. */
export interface Page {
  path: string;
  shows: (string | RegExp)[];
  /** The page that it is gone on to from; absent: it is opened by its address. */
  from?: Page;
  /** It shows this at first, and the rest when it asks anew. */
  anew?: string;
}

/** Pages of each route of the UI, by the routes' own texts; by the words of their lists where a route has a list. */
export interface Pages {
  routes: Record<string, Page[]>;
  requestStates: Record<string, string>;
  taskStates: Record<string, Page['shows']>;
}

const none = 'No requests found';

/** Half a day from now, so that no run of it comes while the pages are looked at. */
const notNow = `0 ${(new Date().getUTCHours() + 12) % 24} * * *`;

/** Creates the records that the pages show. The requests' names are found nowhere else in the UI. */
export async function furnish(scene: Scene): Promise<void> {
  const { api } = scene;
  await Promise.all([
    scene.site('site'),
    scene.withCommands('commanded'),
    scene.running({ id: 'nightly', requestType: 'SCHEDULED', schedule: notNow }),
    scene.job('sayer'),
    scene
      .running({ id: 'just-once', requestType: 'RUN_ONCE' }, { command: 'echo done' })
      .then(() => scene.ended('just-once', 1)),
    scene.coolingDown('cooling'),
    scene.inSteps('stepwise'),
    scene.request({ id: 'undeployed' }),
    scene
      .running({ id: 'resting' })
      .then(() => api.post('requests/request/resting/pause'))
      .then(() => scene.ended('resting', 1)),
    scene
      .running({ id: 'bygone' })
      .then(() => api.call('DELETE', 'requests/request/bygone'))
      .then(() => scene.gone('bygone')),
    // Takes more of a processor than it is promised.
    scene.running(
      { id: 'greedy' },
      { command: 'while :; do :; sleep 0.02; done', resources: { cpus: 0.001, memoryMb: 32 } },
    ),
    scene.failed('broken'),
    api.post('webhooks', { uri: 'http://127.0.0.1:9/told', type: 'REQUEST' }),
  ]);
  await api.post('groups', { id: 'fleet', requestIds: ['site', 'commanded'], metadata: { team: 'harbour' } });
  await patiently('figures of the cluster', async () => {
    const { stats } = await api.get<{ stats: unknown[] }>('disasters/stats');
    return stats.length > 0;
  });
  const measured = ['site', 'greedy'];
  await patiently('figures of the requests', async () => {
    const usage = await api.get<{ requestId: string; cpuUsed: number; cpuReserved: number }[]>('usage/requests');
    const [site, greedy] = measured.map((id) => usage.find(({ requestId }) => requestId === id));
    return site && greedy && greedy.cpuUsed > greedy.cpuReserved && site.cpuUsed < site.cpuReserved;
  });
}

/** Tasks that have pages. */
export interface Ids {
  /** Id of a task of the site. */
  id: string;
  /** Under the executor. */
  commanded: string;
  ended: string;
  failed: string;
}

export async function idsOf(scene: Scene): Promise<Ids> {
  const [site] = await scene.runs('site', 2);
  const [commanded] = await scene.runs('commanded', 1);
  const [ended] = await scene.ended('sayer', 1);
  const [failed] = await scene.ended('broken', 1);
  const [id = '', ...others] = [site, commanded, ended, failed].map((task) => task!.taskId.id);
  return { id, commanded: others[0]!, ended: others[1]!, failed: others[2]! };
}

export function pagesOf({ id, commanded, ended, failed }: Ids): Pages {
  const line = 'the site is open';
  const tail: Page = { path: '/request/site/tail/stdout', shows: [line] };
  const request = (requestId: string, ...shows: Page['shows']): Page => ({ path: `/request/${requestId}`, shows });

  const routes: Pages['routes'] = {
    '/ (index)': [{ path: '/', shows: ['site', 'nightly', 'sayer', 'just-once'] }],
    '/status': [{ path: '/status', shows: ['1 paused', '1 cooling down', '5 active', 'Leader'] }],
    '/requests/new': [{ path: '/requests/new', shows: ['New Request', 'On demand'] }],
    '/requests/edit/:requestId': [
      { path: '/requests/edit/site', shows: ['Editing site', 'Load balanced'] },
      { path: '/requests/edit/nightly', shows: ['Editing nightly', 'Schedule'] },
    ],
    '/requests(/:group)(/:state)(/:subFilter)(/:searchFilter)': [
      ...['SERVICE', 'WORKER', 'SCHEDULED', 'ON_DEMAND', 'RUN_ONCE'].map((type, index) => ({
        path: `/requests/all/all/${type}`,
        shows: [['site', 'commanded', 'nightly', 'sayer', 'just-once'][index]!],
      })),
      { path: '/requests/all/all/all/nigh', shows: ['nightly'] },
    ],
    '/group/:groupId(/:requestId)': [
      { path: '/group/fleet', shows: ['Request Group', 'fleet', 'site', 'Active deploy v1'] },
      { path: '/group/fleet/commanded', shows: ['fleet', 'Worker'] },
    ],
    '/request/:requestId': [
      request('site', 'Active', 'Service', 'Active deploy v1', '1 - localhost', 'Memory per task average', 'Succeeded'),
      request('commanded', 'Worker', 'Active deploy v1', 'Running instances', 'Created'),
      request('nightly', 'Scheduled', 'Scheduled & pending tasks', /nightly-v1-\d+-1-/, 'Run now'),
      request('sayer', 'On demand', 'Finished', 'first', 'Run now'),
      request('just-once', 'Run once', 'Finished', 'Task history'),
      request('cooling', 'System cooldown', 'Exit Cooldown', 'Failed'),
      request('stepwise', 'v1 is pending', 'waiting for manual trigger of next deploy step', 'Advance Deploy'),
      request('undeployed', 'No active deploy', 'No deploys'),
      request('resting', 'Paused', 'Unpause'),
      request('broken', 'No active deploy', 'Failed'),
      request('bygone', 'This request has been deleted', 'Deleting', 'Created'),
    ],
    '/request/:requestId/task-search': [{ path: '/request/sayer/task-search', shows: ['Task Search', 'for sayer'] }],
    '/request/:requestId/deploy': [
      { path: '/request/site/deploy', shows: ['New deploy for site', 'Command to execute', 'Healthcheck'] },
      { path: '/request/sayer/deploy', shows: ['New deploy for sayer', 'Command to execute'] },
    ],
    '/request/:requestId/deploy/:deployId': [
      { path: '/request/site/deploy/v1', shows: ['Succeeded', id, 'CPUs: 0.1', 'HTTP 200'] },
      { path: '/request/broken/deploy/v1', shows: ['Failed', failed, 'TASK_FAILED'] },
      { path: '/request/stepwise/deploy/v1', shows: ['Pending', 'Active Tasks'] },
      { path: '/request/sayer/deploy/v1', shows: ['Succeeded', ended, 'Average runtime'] },
    ],
    '/request/:requestId/old-tail/**': [{ path: '/request/site/old-tail/stdout', shows: [line, 'Instance 2'] }],
    '/request/:requestId/tail/**': [tail, { path: '/request/site/tail/stdout?instance=2', shows: [line] }],
    '/request/:requestId/less/**': [{ path: '/request/site/less/stdout', shows: [line] }],
    '/request/:requestId/instance/:instanceNo': [{ path: '/request/site/instance/1', shows: ['Instance 1', 'folder'] }],
    '/request (index)': [{ path: '/request', shows: ['Not found'] }],
    '/tasks(/:state)(/:requestsSubFilter)(/:searchFilter)': [
      { path: '/tasks/active/all/?showResources=true', shows: [id, 'rack1', '32 MB', '0.1'] },
      { path: '/tasks/active/SERVICE/site?showResources=true', shows: [id] },
      { path: '/tasks/active/all/localhost', shows: [id] },
    ],
    '/task/:taskId(/files**)': [
      {
        path: `/task/${id}`,
        shows: ['site', 'Task running', 'folder', 'stdout', 'allocated CPUs', 'HTTP 200'],
      },
      { path: `/task/${commanded}`, shows: ['commanded', 'Environment variables', 'TASK_ID', 'Execute a command'] },
      { path: `/task/${id}/files/folder`, shows: ['inner.txt', '7 B'] },
      { path: `/task/${ended}`, shows: ['sayer', 'Task finished', 'stdout'] },
      { path: `/task/${failed}`, shows: ['broken', 'Task failed', 'stdout'] },
    ],
    '/task/:taskId/old-tail/**': [
      { path: `/task/${id}/old-tail/stdout`, shows: [line] },
      { path: `/task/${ended}/old-tail/stdout`, shows: ['the job says hello'] },
    ],
    '/task/:taskId/tail/**': [
      { path: `/task/${id}/tail/stdout`, shows: [line] },
      { path: `/task/${id}/tail/folder/inner.txt`, shows: ['inside'] },
      { path: `/task/${id}/tail/${id}/stdout`, shows: [line] },
      { path: `/task/${ended}/tail/stdout?offset=0`, shows: ['the job says hello'] },
    ],
    '/task/:taskId/less/**': [{ path: `/task/${id}/less/stdout`, shows: [line] }],
    '/task (index)': [{ path: '/task', shows: ['Not found'] }],
    // Opened by its address it fails in its own program, whatever it is answered: it reads tasks that it has not asked for.
    '/tail/**': [{ path: `/tail/stdout?taskIds=${id}`, shows: [line, 'Instance'], from: tail }],
    '/racks(/:state)': [{ path: '/racks', shows: ['rack1', 'rack2', 'rack3', 'No Frozen Racks'] }],
    '/agents(/:state)': [{ path: '/agents', shows: [...Object.keys(machines), 'rack3', 'host4', 'No Frozen Agents'] }],
    '/utilization': [{ path: '/utilization', shows: ['Agent health', 'Cluster Utilization', /last updated .* ago/] }],
    '/webhooks': [{ path: '/webhooks', shows: ['http://127.0.0.1:9/told', 'Request'] }],
    '/task-search': [{ path: '/task-search', shows: ['Task Search', 'Search Parameters'] }],
    '/disasters': [
      { path: '/disasters', shows: ['No Actions Are Disabled', 'Lost slaves', 'User initiated', 'numActiveAgents'] },
    ],
    '/api-docs': [{ path: '/api-docs', shows: ['Muster', 'Requests', 'Webhooks'] }],
    '/*': [{ path: '/no/such/page', shows: ['Not found', '/no/such/page'] }],
  };
  return {
    routes,
    requestStates: {
      all: 'undeployed',
      active: 'site',
      cooldown: 'cooling',
      paused: 'resting',
      // Of these two the UI shows nothing, whatever it is answered: it looks for a member that they never had. Opened by
      // their addresses they show all requests until the UI asks anew; so it asks for figures of usage, too.
      pending: none,
      cleaning: none,
      activeDeploy: 'site',
      noDeploy: 'undeployed',
      overUtilizedCpu: 'greedy',
      underUtilizedCpu: 'site',
      underUtilizedMem: 'site',
      underUtilizedDisk: none,
    },
    taskStates: {
      active: [id, 'localhost'],
      scheduled: ['nightly', 'v1'],
      cleaning: ['No matching tasks'],
      lbcleanup: ['No matching tasks'],
      decommissioning: ['No matching tasks'],
    },
  };
}

/** A task that has been told to end, and one whose machine is to be left: the pages of tasks as they are then. */
export async function pagesOfCleanups(scene: Scene): Promise<Page[]> {
  const { api } = scene;
  await scene.running({ id: 'stays', requiredSlaveAttributes: { room: 'leaving' } });
  await api.post('slaves/slave/leaving/decommission', {});
  await patiently('the cleanup', async () => {
    const cleanups = await api.get<{ taskId: { requestId: string } }[]>('tasks/cleaning');
    return cleanups.some(({ taskId }) => taskId.requestId === 'stays');
  });
  const slow = await scene.slowToEnd('slow');
  await api.call('DELETE', `tasks/task/${slow.taskId.id}`, {});
  return [
    { path: '/tasks/cleaning', shows: [/stays-v1-\d+-1-/, 'Decomissioning'] },
    // Without resources the UI is answered ids alone, in which it does not find what it looks for.
    { path: '/tasks/decommissioning?showResources=true', shows: [/stays-v1-\d+-1-/, 'rack2', '32 MB'] },
    { path: `/task/${slow.taskId.id}`, shows: ['Task cleaning', 'Destroy Task', 'Task is terminating'] },
    { path: '/agents', shows: ['Decommissioning', 'leaving'] },
  ];
}
