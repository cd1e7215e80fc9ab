import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findBinaries, linkLibraries } from '../../src/platform/embedded-server/binaries.js';
import { readCompose, runWords } from '../support/compose.js';
import { freePort } from '../support/free-port.js';
import { type TestPodman, testPodman, withoutCompose } from '../support/podman.js';
import { addNode, makeRootFileSystem } from '../support/root-file-system.js';
import { waitFor } from '../support/wait-for.js';
import { shell } from './support/muster-command.js';
import { readmeTour } from './support/readme-tour.js';

/*
 * The image as its Dockerfile makes it, started by podman-compose as docker-compose.yml says. No image can be downloaded: those that both name are
 * put together of what this machine has.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const base = 'localhost/base:1';
const project = `muster-compose-${process.pid}`;
/** As podman-compose names it, so that it need not build it again. */
const built = `localhost/${project}_muster`;
const file = join(root, 'docker-compose.yml');
/** No account in the image has it. */
const uid = 23_456;

/** Program that starts as the official image of PostgreSQL does, as far as the compose file asks for it. */
const startPostgres = `#!/bin/sh
set -e
bin=/usr/lib/postgresql/bin data=/var/lib/postgresql/18/docker
as="setpriv --reuid=postgres --regid=postgres --clear-groups"
if [ ! -e $data/PG_VERSION ]; then
  mkdir -p $data
  chown postgres:postgres $data
  echo "$POSTGRES_PASSWORD" >/tmp/password
  $as $bin/initdb --pgdata=$data --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --no-sync
  echo "CREATE DATABASE \\"$POSTGRES_DB\\"" | $as $bin/postgres --single -D $data postgres
  echo 'host all all all scram-sha-256' >>$data/pg_hba.conf
fi
exec $as $bin/postgres -D $data -c listen_addresses='*' -c unix_socket_directories=/tmp
`;
const isReady = `#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/5432\n`;

function addPostgres(folder: string): void {
  const binaries = findBinaries();
  linkLibraries(binaries);
  cpSync(binaries.root, join(folder, 'usr/lib/postgresql'), { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(folder, 'usr/local/bin'), { recursive: true });
  for (const [name, text] of Object.entries({ 'start-postgres': startPostgres, pg_isready: isReady }))
    writeFileSync(join(folder, 'usr/local/bin', name), text, { mode: 0o755 });
}

describe.skipIf(withoutCompose)('the image', () => {
  let podman: TestPodman;
  let port: number;
  /** Podman with the arguments of this storage: podman-compose gives its own behind the command. */
  let composeEngine: string;
  /** Beside the runner, which wants to hear of this process meanwhile. */
  const engine = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)(podman.engine, [...podman.engineArguments, ...words], { cwd: root, maxBuffer: 2 ** 26 }))
      .stdout;
  const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=1000:1000'];

  async function importImage(name: string, parts: Parameters<typeof makeRootFileSystem>[2], ...changes: string[]) {
    const folder = join(podman.folder, name.replaceAll(/\W/g, '-'));
    makeRootFileSystem(`${folder}.tar`, folder, parts);
    await engine('import', ...changes.map((change) => `--change=${change}`), `${folder}.tar`, name);
    execFileSync('rm', ['-r', folder, `${folder}.tar`]);
  }

  /** Its cache, and the way to its registry where that is one of its own. */
  function npmOfThisMachine(): string[] {
    const get = (name: string) => execFileSync('npm', ['config', 'get', name], { cwd: root, encoding: 'utf8' }).trim();
    const [cache, registry, authority] = [get('cache'), get('registry'), get('cafile')];
    const settings = join(podman.folder, 'npmrc');
    const isKnown = authority === 'null';
    writeFileSync(settings, `registry=${registry}\n${isKnown ? '' : 'cafile=/root/authority.pem\n'}`);
    return [
      `${cache}:/root/.npm`,
      `${settings}:/root/.npmrc:ro`,
      ...(isKnown ? [] : [`${authority}:/root/authority.pem:ro`]),
    ].map((volume) => `--volume=${volume}`);
  }

  beforeAll(async () => {
    podman = testPodman();
    port = await freePort();
    composeEngine = join(podman.folder, 'compose-engine');
    writeFileSync(composeEngine, `#!/bin/sh\nexec ${[podman.engine, ...podman.engineArguments].join(' ')} "$@"\n`, {
      mode: 0o755,
    });
    await importImage(base, { packages: ['libstdc++6'], users: { node: 1000 }, add: addNode });
    const words = ['--format=docker', '--network=host', ...npmOfThisMachine(), `--build-arg=BASE=${base}`];
    await engine('build', ...words, ...limits, '--layers=false', '--rm', `--tag=${built}`, root);
    const { services } = parse(readFileSync(file, 'utf8')) as { services: { postgres: { image: string } } };
    const start = ['CMD ["start-postgres"]', 'ENV PATH=/usr/local/bin:/usr/bin:/bin'];
    const postgres = { packages: ['libstdc++6'], users: { postgres: 999 }, add: addPostgres };
    await importImage(`localhost/${services.postgres.image}`, postgres, ...start);
  }, 900_000);
  afterAll(async () => {
    if (!podman) return;
    const network = `${project}_default`;
    await engine('network', 'rm', '--force', network).catch(() => undefined);
    rmSync(`/var/lib/cni/networks/${network}`, { recursive: true, force: true });
    podman.remove();
  }, 300_000);

  test('has the files of the package and what these need: no sources, tests or development packages', async () => {
    const script =
      'id -un; find . -name "*.test.ts" -not -path "./node_modules/*"; ls; ls node_modules node_modules/@nestjs';
    const [user, ...names] = (await engine('run', '--rm', ...limits, built, 'sh', '-c', script)).trim().split('\n');
    expect(user).toBe('node');
    for (const wanted of ['bin', 'dist', 'examples', 'schemas', 'pg', 'rest-contract', 'muster-client'])
      expect(names).toContain(wanted);
    for (const none of ['src', 'test', 'scripts', 'packages', 'typescript', 'vitest', 'esbuild', 'cli'])
      expect(names).not.toContain(none);
    expect(names.filter((name) => name.endsWith('.test.ts'))).toEqual([]);
  }, 300_000);

  test('starts by the compose file, is healthy, and does what the README says', async () => {
    await up();
    const env = { MUSTER_URL: `http://127.0.0.1:${port}` };
    for (const line of readmeTour) {
      const { code, out, err } = await shell(line, { env });
      expect(code, `${line}\n${out}${err}`).toBe(0);
    }
    await compose('stop', '--timeout=60');
    await stopped(container('muster'));
    await compose('down', '--volumes');
  }, 300_000);

  test('starts by the engine alone as any user, on a read-only root', async () => {
    const network = podman.addNetwork();
    const addresses = new Map<string, string>();
    for (const [name, service] of readCompose(file)) {
      const words = runWords(name, service, { built, addresses, port });
      const user = service.build === undefined ? [] : [`--user=${uid}`];
      await engine('run', '--detach', `--network=${network}`, ...limits, ...user, ...words);
      const address = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
      addresses.set(name, (await engine('inspect', `--format=${address}`, name)).trim());
      await untilHealthy(name);
    }
    expect((await engine('exec', 'muster', 'id', '-u')).trim()).toBe(String(uid));
    await expect(engine('exec', 'muster', 'touch', '/opt/muster/new')).rejects.toThrow('Read-only file system');
    await engine('stop', '--time=60', 'muster');
    await stopped('muster');
  }, 300_000);

  const container = (service: string) => `${project}_${service}_1`;

  async function compose(...words: string[]): Promise<void> {
    const runArguments = [...limits, '--init-path=/usr/bin/catatonit'].map((word) => `--podman-run-args=${word}`);
    const options = [`--podman-path=${composeEngine}`, `--project-name=${project}`, ...runArguments, `--file=${file}`];
    const env = { ...process.env, MUSTER_PORT: String(port) };
    await promisify(execFile)('/usr/bin/podman-compose', [...options, ...words], { cwd: root, env });
  }

  async function up(): Promise<void> {
    await compose('up', '--detach', '--no-build');
    for (const service of ['postgres', 'muster']) await untilHealthy(container(service));
  }

  const untilHealthy = (name: string): Promise<unknown> =>
    waitFor(`${name} to be healthy`, () => isHealthy(name), { timeoutMillis: 90_000, everyMillis: 500 }).catch(
      async (cause: unknown) => {
        throw new Error(`It printed:\n${await engine('logs', name)}`, { cause });
      },
    );

  async function stopped(name: string): Promise<void> {
    expect((await engine('inspect', '--format={{.State.ExitCode}}', name)).trim()).toBe('0');
    expect(await engine('logs', name)).toContain('  agent: stopped');
  }

  const isHealthy = (name: string): Promise<boolean> =>
    engine('healthcheck', 'run', name).then(
      () => true,
      () => false,
    );
});
