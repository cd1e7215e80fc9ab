import { connectMuster, type Muster, MusterError } from 'muster-client';
import { session } from './session';
import { view } from './view';

const apiRoot = new URL(view.apiRoot || '/api', location.href).href.replace(/\/+$/, '');
/** The client's paths begin with /api, an installation's may not. */
const clientRoot = apiRoot.replace(/\/api$/, '');
const isUsual = clientRoot !== apiRoot;

const plainAddress = (path: string): string => (isUsual ? path : path.replace(`${clientRoot}/api`, apiRoot));

function addressOf(path: string): string {
  const url = new URL(plainAddress(path));
  const name = session.name();
  if (name !== undefined) url.searchParams.set('user', name);
  return url.href;
}

/** Every call of the page passes here: it says who calls, and notices when nobody is signed in any more. */
async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(addressOf(path), { ...init, credentials: 'include' });
  if (response.status === 401) session.refused();
  return response;
}

export const muster = connectMuster({
  url: clientRoot,
  token: () => session.token() ?? '',
  fetch: send,
  // A person sees sooner that something is wrong than a program has to.
  retries: 1,
});

/** Its calls say who makes them by nothing but this token or, without one, what the browser has. */
const signingIn = (credentials: RequestCredentials, token?: string): Muster =>
  connectMuster({
    url: clientRoot,
    token,
    retries: 0,
    fetch: (path, init) => fetch(plainAddress(path), { ...init, credentials }),
  });

/** Fails where the token opens nothing. */
export async function signIn(token: string): Promise<void> {
  try {
    await signingIn('same-origin').auth.signIn({ body: { token } });
    session.begin();
  } catch (cause) {
    // The settings have no sessions, or the API is that of another origin: then the token goes with each call.
    if (!isStatus(cause, 403, 409)) throw cause;
    await signingIn('omit', token).auth.whoCalls({});
    session.begin(token);
  }
}

/** Nothing of what was shown is left on the page. */
export async function signOut(): Promise<void> {
  await muster.auth.signOut({});
  session.end();
  location.reload();
}

/** A page of a list, and where the next one begins. */
export async function pageOf<T>(read: (of: Muster) => Promise<T>): Promise<{ rows: T; next: string | undefined }> {
  let next: string | undefined;
  const listening = connectMuster({
    url: clientRoot,
    token: () => session.token() ?? '',
    retries: 1,
    fetch: async (path, init) => {
      const response = await send(path, init);
      next = response.headers.get('x-next-cursor') ?? undefined;
      return response;
    },
  });
  return { rows: await read(listening), next };
}

/** Saves a file of a task: by a link, so that none of it is kept in memory, unless a header has to say who calls. */
export async function download(slaveHostname: string, path: string, name: string): Promise<void> {
  if (session.token() === undefined) {
    const query = new URLSearchParams({ slaveHostname, path });
    save(addressOf(`${clientRoot}/api/tasks/download?${query}`), name);
    return;
  }
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const stream = await muster.tasks.download({ slaveHostname, path }, { timeoutMs: 0 });
  for await (const piece of stream) pieces.push(new Uint8Array(piece));
  const url = URL.createObjectURL(new Blob(pieces, { type: 'application/octet-stream' }));
  save(url, name);
  URL.revokeObjectURL(url);
}

const save = (href: string, name: string): void =>
  Object.assign(document.createElement('a'), { href, download: name }).click();

export const isStatus = (cause: unknown, ...statuses: number[]): boolean =>
  cause instanceof MusterError && statuses.includes(cause.status);

/** For what may not be there, which is no failure. */
export const orNone = <T>(call: Promise<T>): Promise<T | null> =>
  call.catch((cause: unknown) => {
    if (isStatus(cause, 404)) return null;
    throw cause;
  });
