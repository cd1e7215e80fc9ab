'use strict';
(() => {
  const { element, time, duration, fromCookie } = window.musterPage;
  const view = JSON.parse(document.getElementById('index-view').textContent);
  const refreshMillis = 4_000;
  /** Longer lists are cut: the API has all of them. */
  const mostRows = 100;

  const record = (path, text) => element('a', { href: `${view.apiRoot}/${path}` }, text);
  const badge = (word) => element('span', { class: `badge ${word.toLowerCase().replaceAll('_', '-')}` }, word);
  const idOf = encodeURIComponent;
  const host = (name) => {
    const suffix = view.commonHostnameSuffixToOmit;
    const short = suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
    return view.shortenSlaveUsageHostname ? short.split('.')[0] : short;
  };

  /** What the reader unfolded stays so when the table is drawn anew. */
  const unfolded = new Set();
  function folded(key, first, others) {
    const details = element(
      'details',
      { open: unfolded.has(key) ? '' : undefined },
      element('summary', {}, first),
      ...others,
    );
    details.addEventListener('toggle', () => (details.open ? unfolded.add(key) : unfolded.delete(key)));
    return details;
  }

  /** In UTC, and by the clocks of the zone that the schedule is in. The first is seen, the others are folded away. */
  const runs = (id, times = []) => {
    const line = ({ utc, local, timeZone }) =>
      element('div', {}, element('time', { datetime: utc }, utc), timeZone === 'UTC' ? '' : ` (${local} ${timeZone})`);
    const [first, ...others] = times.map(line);
    return others.length === 0 ? (first ?? '') : folded(id, first, others);
  };

  const sections = [
    {
      id: 'deploys',
      path: `deploys/pending?limit=${mostRows}&cursor=*`,
      nothing: 'No deploy is in progress.',
      columns: {
        Request: ({ deployMarker: { requestId } }) => record(`requests/request/${idOf(requestId)}`, requestId),
        Deploy: ({ deployMarker }) => deployMarker.deployId,
        'New tasks': ({ deployProgress: progress }) =>
          progress ? `${progress.currentActiveInstances} of ${progress.targetActiveInstances}` : '',
        State: ({ currentDeployState }) => badge(currentDeployState),
        'Waits because': ({ waitsBecause = '' }) => element('span', { class: 'words' }, waitsBecause),
        By: ({ deployMarker }) => deployMarker.user ?? '',
        Since: ({ deployMarker }) => time(deployMarker.timestamp),
      },
    },
    {
      id: 'requests',
      path: `requests?limit=${mostRows}&property=request.id&property=request.requestType&property=request.instances&property=state&property=requestDeployState&nextRuns=true&property=nextRuns`,
      nothing: 'There are no requests.',
      columns: {
        Request: ({ request }) => record(`requests/request/${idOf(request.id)}`, request.id),
        Type: ({ request }) => request.requestType,
        State: ({ state }) => badge(state),
        Instances: ({ request }) => request.instances ?? 1,
        'Active deploy': ({ requestDeployState: deploys }) => deploys?.activeDeploy?.deployId ?? '',
        Deployed: ({ requestDeployState: deploys }) => time(deploys?.activeDeploy?.timestamp),
        'Next runs': ({ request, nextRuns }) => runs(request.id, nextRuns),
      },
    },
    {
      id: 'tasks',
      path: `tasks/active/ids?limit=${mostRows}&cursor=*`,
      nothing: 'No task is active.',
      columns: {
        Task: ({ id }) => record(`history/task/${idOf(id)}`, id),
        Request: ({ requestId }) => requestId,
        Instance: ({ instanceNo }) => instanceNo,
        Host: (task) => host(task.host),
        Started: ({ startedAt }) => time(startedAt),
      },
    },
    {
      id: 'slaves',
      path: `slaves?limit=${mostRows}&cursor=*`,
      nothing: 'No slave has appeared yet.',
      columns: {
        Slave: ({ id }) => record(`slaves/slave/${idOf(id)}/details`, id),
        Host: (slave) => host(slave.host),
        Rack: ({ rackId }) => rackId,
        State: ({ currentState }) => badge(currentState.state),
        Since: ({ currentState }) => time(currentState.timestamp),
        Cores: ({ resources }) => resources?.cpus ?? '',
        'Memory (MB)': ({ resources }) => resources?.mem ?? '',
      },
    },
  ];

  const figures = {
    'Active requests': (state) => state.activeRequests,
    'Running tasks': (state) => state.activeTasks,
    'Launching tasks': (state) => state.launchingTasks,
    'Pending tasks': (state) => state.scheduledTasks,
    'Late tasks': (state) => state.lateTasks,
    'Longest delay': (state) => duration(state.maxTaskLag),
    'Active slaves': (state) => state.activeSlaves,
    Deploys: (state) => state.numDeploys,
    // The service keeps them for a while: they may be older than the lists below.
    'As of': (state) => new Date(state.generatedAt).toLocaleTimeString(),
  };

  class Failure extends Error {}

  async function read(path) {
    const headers = { Accept: 'application/json' };
    if (view.generateAuthHeader) {
      const token = fromCookie(view.authCookieName, view.authTokenKey);
      if (token) headers.Authorization = `Bearer ${token}`;
    }
    const response = await fetch(`${view.apiRoot}/${path}`, { headers, signal: AbortSignal.timeout(30_000) });
    if (response.status === 401 && view.redirectOnUnauthorizedUrl) {
      location.assign(view.redirectOnUnauthorizedUrl.replace('{URL}', encodeURIComponent(location.href)));
    }
    const text = await response.text();
    if (!response.ok) throw new Failure(messageOf(text) ?? `The API answered ${response.status}`);
    return { text, more: response.headers.has('X-Next-Cursor') };
  }

  function messageOf(text) {
    try {
      return JSON.parse(text).message;
    } catch {
      return undefined;
    }
  }

  /** What is shown now, by section: as long as it is the same, nothing on the page moves. */
  const shown = new Map();

  async function showSection({ id, path, nothing, columns }) {
    const { text, more } = await read(path);
    if (shown.get(id) === text) return;
    shown.set(id, text);
    const rows = JSON.parse(text);
    const section = document.getElementById(id);
    const cells = (row) => Object.values(columns).map((cell) => element('td', {}, cell(row)));
    section.querySelector('tbody').replaceChildren(...rows.map((row) => element('tr', {}, ...cells(row))));
    section.querySelector('table').hidden = rows.length === 0;
    const cut = more || rows.length === mostRows;
    section.querySelector('.note').textContent =
      rows.length === 0 ? nothing : cut ? `The first ${mostRows} are shown.` : '';
  }

  async function showFigures() {
    const { text } = await read('state');
    if (shown.get('figures') === text) return;
    shown.set('figures', text);
    const state = JSON.parse(text);
    const entries = Object.entries(figures).map(([name, of]) =>
      element('div', {}, element('dt', {}, name), element('dd', {}, String(of(state)))),
    );
    document.getElementById('figures').replaceChildren(...entries);
  }

  const status = document.getElementById('status');
  function showStatus(message, failed) {
    // A screen reader says it when it changes, not with every reading.
    if (status.textContent !== message) status.textContent = message;
    status.classList.toggle('failed', failed);
  }

  async function refresh() {
    const results = await Promise.allSettled([showFigures(), ...sections.map(showSection)]);
    const failed = results.find((result) => result.status === 'rejected');
    if (!failed) return showStatus('Up to date', false);
    const reason = failed.reason instanceof Failure ? failed.reason.message : 'The service does not answer';
    showStatus(`${reason}. What is shown may be old; trying again`, true);
  }

  let running = false;
  async function refreshWhileSeen() {
    if (running || document.hidden) return;
    running = true;
    try {
      await refresh();
    } finally {
      running = false;
    }
  }

  for (const { id, columns } of sections) {
    const heads = Object.keys(columns).map((name) => element('th', { scope: 'col' }, name));
    document.querySelector(`#${id} thead`).append(element('tr', {}, ...heads));
    document.querySelector(`#${id} table`).hidden = true;
  }
  for (const { title, linkFormat, tooltip } of JSON.parse(view.navTitleLinks)) {
    const href = linkFormat.replace('{CURRENT_PATH}', location.pathname.slice(view.appRoot.length + 1));
    document.getElementById('elsewhere').append(element('a', { href, title: tooltip }, title));
  }
  document.addEventListener('visibilitychange', refreshWhileSeen);
  setInterval(refreshWhileSeen, refreshMillis);
  refreshWhileSeen();
})();
