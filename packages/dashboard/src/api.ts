import { connectMuster, MusterError } from 'muster-client';
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

/** Fails where this token opens nothing, whatever else the page has to say who calls. */
export async function prove(token: string): Promise<void> {
  const trial = connectMuster({
    url: clientRoot,
    token,
    retries: 0,
    fetch: (path, init) => fetch(plainAddress(path), init),
  });
  const who = await trial.auth.whoCalls({});
  if (!who.authenticated) throw new Error('This token opens nothing');
}

/** Saves a file of a task. By fetch and not by a link, which could not say who calls. */
export async function download(slaveHostname: string, path: string, name: string): Promise<void> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const stream = await muster.tasks.download({ slaveHostname, path }, { timeoutMs: 0 });
  for await (const piece of stream) pieces.push(new Uint8Array(piece));
  const url = URL.createObjectURL(new Blob(pieces, { type: 'application/octet-stream' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}

export const isStatus = (cause: unknown, ...statuses: number[]): boolean =>
  cause instanceof MusterError && statuses.includes(cause.status);

/** For what may not be there, which is no failure. */
export const orNone = <T>(call: Promise<T>): Promise<T | null> =>
  call.catch((cause: unknown) => {
    if (isStatus(cause, 404)) return null;
    throw cause;
  });
