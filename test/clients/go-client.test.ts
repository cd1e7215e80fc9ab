import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { withoutObjectStore } from '../support/object-store.js';
import { tempFolder } from '../support/temp-folder.js';
import { impossible, outcomesOf, withMuster, type Outcome, type Place } from './published-client.js';

/*
 * The published Go clients as they are, from the proxy of their language: the one generated from the description of the API
 * with every method that it has (found by reflection), the one written by hand with every call that reaches the service.
 */
const folder = fileURLToPath(new URL('go/', import.meta.url));
const page = readFileSync(new URL('../../docs/migration.md', import.meta.url), 'utf8');
// Where its makers put it, if it is not on the path.
const PATH = `${process.env['PATH']}:/usr/local/go/bin`;
const env = { PATH, GOFLAGS: '-mod=readonly -buildvcs=false', GOTOOLCHAIN: 'local' };

const argumentsOf = { opentable: generated, lenfree: handWritten };
const clients = Object.keys(argumentsOf) as (keyof typeof argumentsOf)[];

async function generated({ address, loggedTask }: Place, work: string): Promise<string[]> {
  return [address, '/singularity', loggedTask, join(work, 'sign')];
}
/** It knows no path in front of the API, and makes no deploy that runs here: it looks at and cancels those of others. */
async function handWritten({ api, address }: Place): Promise<string[]> {
  const small = { requestId: 'deployed', command: 'exec sleep 600', resources: { cpus: 0.1, memoryMb: 16 } };
  await api.saveRequest({ id: 'deployed', requestType: 'SERVICE' });
  await api.deploy({ ...small, id: 'd1' });
  await api.deployEnded('deployed', 'd1');
  await api.deploy({ ...small, id: 'd2', considerHealthyAfterRunningForSeconds: 600 });
  return address.split(':');
}

/** undefined: they cannot be had here, and a line says why. */
async function drive(): Promise<Map<string, Outcome[]> | undefined> {
  const { path: work, remove } = tempFolder();
  try {
    cpSync(folder, work, { recursive: true });
    // What was fetched before is there without the network.
    const build = ['build', '-o', join(work, 'built') + '/', './...'];
    const fetched =
      withoutObjectStore ??
      ((await impossible('go', ['list', '-deps', './...'], { ...env, GOPROXY: 'off' }, work)) &&
        (await impossible('go', ['list', '-deps', './...'], env, work)));
    if (fetched !== undefined) {
      console.log(`Tests of the Go clients are left out: ${fetched}`);
      return undefined;
    }
    const problem = await impossible('go', build, env, work);
    if (problem !== undefined) throw new Error(problem);
    const outcomes = new Map<string, Outcome[]>();
    for (const client of clients) {
      const contextPath = client === 'opentable' ? '/singularity' : '';
      const run = async (place: Place) =>
        outcomesOf(join(work, 'built', client), await argumentsOf[client](place, work));
      outcomes.set(client, await withMuster(contextPath, run));
    }
    return outcomes;
  } finally {
    remove();
  }
}

const driven = await drive();

describe.each(clients)('the Go client of %s', (client) => {
  const outcomes = driven?.get(client) ?? [];

  // Which ones do not work is told by the page.
  const broken = outcomes.filter(({ outcome }) => outcome === 'fault');

  test.each(outcomes)('$method', (told) => {
    expect(told).toEqual({ ...told, outcome: broken.includes(told) ? told.outcome : 'works' });
  });

  test.skipIf(!driven)('docs/migration.md says how many of its calls work, and which do not', () => {
    const calls = new Set(outcomes.map(({ method }) => method));
    const row = page.split('\n').find((line) => line.startsWith('| Go client') && line.includes(client));
    expect(row).toContain(` ${calls.size - broken.length} of ${calls.size} `);
    for (const { method } of broken) expect(row).toContain(`\`${method}\``);
  });
});
