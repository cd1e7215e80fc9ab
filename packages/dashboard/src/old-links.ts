const states: Readonly<Record<string, string>> = {
  active: 'ACTIVE',
  paused: 'PAUSED',
  cooldown: 'SYSTEM_COOLDOWN',
  finished: 'FINISHED',
  pending: 'pending',
  cleanup: 'cleaning',
  cleaning: 'cleaning',
};
const isState = (word: string): boolean => word === 'all' || Object.hasOwn(states, word.toLowerCase());

const query = (values: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(values).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== 'all' && pair[1] !== '',
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
};

/** Where a page of an older dashboard is now; undefined, where no page was. Paths are below the page's own. */
export function oldPaths(path: string, search = ''): string | undefined {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const [first = '', ...rest] = parts;
  if (first === 'requests') {
    const [group, ...others] = rest.length > 0 && !isState(rest[0]!) ? rest : [undefined, ...rest];
    const [state, types, ...q] = others;
    return `/requests${query({ state: states[state?.toLowerCase() ?? ''], type: types, q: q.join('/'), group })}`;
  }
  if (first === 'tasks') {
    const [state, types, ...q] = rest;
    return `/tasks${query({ state, type: types, q: q.join('/') })}`;
  }
  if (first === 'slaves' || first === 'agents') return `/slaves${query({ state: rest[0]?.toUpperCase() })}`;
  if (first === 'racks') return `/racks${query({ state: rest[0]?.toUpperCase() })}`;
  const log = /^\/(request|task)\/([^/]+)\/(?:old-tail|less)\/(.+)$/.exec(path);
  if (log) return `/${log[1]}/${log[2]}/tail/${log[3]}${search}`;
  return undefined;
}
