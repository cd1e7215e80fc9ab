import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freePort } from '../../support/free-port.js';
import { waitFor } from '../../support/wait-for.js';
import { Lab, labBinaries } from '../lab/lab.js';
import { sweptFolder } from '../lab/sweep.js';
import { runShell } from './shell.js';

/* The chapter for readers without a Kubernetes, from the first command on that is not of k3s. Two kubelets stand for the two machines. */

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const chapter = readFileSync('docs/kubernetes.md', 'utf8')
  .split('\n## Two machines in ten minutes\n')[1]!
  .split('\n## ')[0]!;
/** Each command block, and what the page says that it prints. */
const steps = [...chapter.matchAll(/```sh\n([\s\S]*?)```\n+(?:```text\n([\s\S]*?)```)?/g)].map(
  ([, commands, output]) => ({ commands: commands!, output }),
);
const step = (part: string) => steps.find(({ commands }) => commands.includes(part))!;

/** Without what differs on each machine: ids, numbers, the widths of columns, and a last column that is empty, which terminals do not get. */
const shape = (text: string): string =>
  text
    .replaceAll(/\b[\da-f]{12}\b/g, 'ID')
    .replaceAll(/\d+/g, '0')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/^ | RUN$| $/gm, '')
    .trim();

describe.skipIf(labBinaries === undefined)('two machines in ten minutes', () => {
  let folder: string;
  let lab: Lab;
  let server: ChildProcess | undefined;
  let port: number;
  const printed: string[] = [];

  beforeAll(async () => {
    folder = sweptFolder();
    // The embedded database runs as another user when this one is root.
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'home'), { mode: 0o755 });
    for (const name of ['bin', 'scripts', 'package.json', 'node_modules', 'dist'])
      symlinkSync(join(process.cwd(), name), join(folder, name));
    lab = await Lab.start({ nodes: 2, imageAliases: ['docker.io/library/busybox:1.37'] });
    port = await freePort();
    await run('kubectl delete -f deploy/kubernetes/rbac.yaml', process.cwd());
  });
  afterAll(async () => {
    if (server && server.exitCode === null) {
      const ended = once(server, 'exit');
      process.kill(-server.pid!, 'SIGTERM');
      await ended;
    }
    await lab?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const env = () => ({ HOME: join(folder, 'home'), MUSTER_PORT: String(port) });
  const onLab = (commands: string): string =>
    `unset DATABASE_URL\n${commands.replaceAll('/etc/rancher/k3s/k3s.yaml', lab.adminConfig)}`;

  async function run(commands: string, directory = folder): Promise<string> {
    const { failed, output } = await runShell(lab, `cd '${directory}'\n${onLab(commands)}`, env());
    expect(failed, output).toBe(false);
    return output;
  }

  test('both machines are nodes of the cluster', async () => {
    const { commands, output } = step('kubectl get nodes');
    expect(shape(await run(commands))).toBe(shape(output!));
  });

  test('Muster starts on the first one', async () => {
    const { commands, output } = step('npm start');
    const whole = { ...process.env, PATH: `${labBinaries}:${process.env['PATH']}`, KUBECONFIG: lab.adminConfig };
    server = spawn('bash', ['--norc', '-euc', onLab(commands)], {
      cwd: folder,
      env: { ...whole, ...env() },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [server.stdout!, server.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => printed.push(text));
    const wanted = shape(output!).split('\n');
    const isThere = () =>
      shape(printed.join(''))
        .split('\n')
        .filter((line) => wanted.includes(line)).length === wanted.length;
    await waitFor('these lines', isThere, { timeoutMillis: 120_000 }).catch(() => undefined);
    expect(shape(printed.join('')).split('\n')).toEqual(expect.arrayContaining(wanted));
  });

  test('its commands show both machines, run a service on them, and show its tasks', async () => {
    const definition = step('muster() ').commands.split('\n')[0]!;
    for (const part of ['muster machines', 'muster apply', 'muster ps']) {
      const { commands, output } = step(part);
      let printed = '';
      const answer = async () => shape((printed = await run(`${definition}\n${commands}`))).split('\n');
      let lines = await answer();
      const wanted = shape(output!).split('\n');
      // The nodes are read while the service is ready already.
      const areThere = async () => lines.length === wanted.length || (lines = await answer()).length === wanted.length;
      if (part === 'muster machines') await waitFor('both machines', areThere, { timeoutMillis: 60_000 });
      // What happens meanwhile is not the same each time.
      const told = part === 'muster apply' ? lines.filter((line) => wanted.includes(line)) : lines;
      expect(told, printed).toEqual(wanted);
    }
  });
});
