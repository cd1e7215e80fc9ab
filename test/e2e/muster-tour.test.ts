/* eslint-disable no-control-regex -- what terminals obey is looked for */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../support/temp-folder.js';
import { demoOn, muster, musterOnTerminal, shell } from './support/muster-command.js';
import { Installation, type Instance } from './support/product.js';
import { readmeTour as tour } from './support/readme-tour.js';

/** The tour of README.md, by the real binary against the real product: in a pipe, then on a pseudo-terminal. */
const hasScript = spawnSync('script', ['--version']).status === 0;

const installation = new Installation();
let instance: Instance;
let env: Record<string, string>;
beforeAll(async () => {
  instance = await installation.start();
  // Nothing but the data directory says where it is.
  env = { MUSTER_DATA_DIR: installation.dataDir };
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

const left = () => instance.api.get<string[]>('requests/ids');

test('in a pipe: each line does what the page says, without a byte for terminals', async () => {
  const told: Record<string, string> = {};
  for (const line of tour) {
    const { code, out, err } = await shell(line, { env });
    expect(code, `${line}\n${out}${err}`).toBe(0);
    expect(out + err, line).not.toContain('\u001b');
    told[line] = out + err;
  }
  expect(tour.length).toBeGreaterThanOrEqual(20);
  const of = (begin: string): string => told[tour.find((line) => line.startsWith(begin))!]!;
  expect(of('muster apply -f examples/web')).toContain('request web: created');
  expect(of('muster apply -f examples/web')).toMatch(
    /instance 3: HEALTHY web-[0-9a-f]{12}-\S+\n[\s\S]*web [0-9a-f]{12}: SUCCEEDED\n$/,
  );
  expect(of('muster ps web').split('\n')[1]).toMatch(/^web-[0-9a-f]{12}\S+\tRUNNING\t\d+s\tlocalhost\t$/);
  expect(of('muster logs web')).toMatch(/^web\.1 version 1 listens on \d+\nweb\.2 /);
  expect(of('muster plan')).toContain('  - deploy.env.VERSION: "1"\n  + deploy.env.VERSION: "2"\n');
  expect(of('muster plan')).toContain('3 to start, 3 to stop: everything fits');
  expect(of('muster history web --deploys')).toMatch(/\n[0-9a-f]{12}\tSUCCEEDED\t/);
  expect(of('muster rollback')).toContain('.rollback1: SUCCEEDED');
  expect(of('muster deploy -f examples/fragile')).toMatch(/muster: fragile: [0-9a-f]{12} ended as FAILED[\s\S]*$/);
  expect(of('muster deploy -f examples/fragile')).toContain('exit code 9\n');
  expect(of('muster run')).toBe('Hello, Ada!\nHello, Grace!\n');
  expect(of('muster requests')).toMatch(/\nweb\tSERVICE\tACTIVE\t4\t[0-9a-f]{12}\.rollback1\t\n/);
  expect(await left()).toEqual([]);
}, 240_000);

test('after it the demo deploys the same examples, and leaves alone what is there; the tour can begin anew', async () => {
  const names = ['fragile', 'greet', 'report', 'web', 'worker'];
  const lines = async () =>
    (await demoOn(instance.api.url)).out
      .split('\n')
      .filter((line) => names.some((name) => line.startsWith(`  ${name}: `)));
  for (const line of await lines()) expect(line).toContain('/api/requests/request/');
  expect(await lines()).toEqual(names.map((name) => `  ${name}: is there already`));
  const again = await shell(
    tour.find((line) => line.startsWith('muster apply -f examples/web'))!,
    { env },
  );
  expect(again, again.err).toMatchObject({ code: 0 });
  expect(again.out).toMatch(/^request web: unchanged\ndeploy web [0-9a-f]{12}\.2: /);
  expect(await shell(tour.at(-1)!, { env })).toMatchObject({ code: 0, err: '' });
}, 90_000);

describe.runIf(hasScript)('on a terminal', () => {
  test('a deploy is drawn in place, instance by instance, in colours; tables have no tabs', async () => {
    const { path, remove } = tempFolder();
    onTestFinished(remove);
    const files = ['request.json', 'deploy-v1.json'].map((name) => {
      const text = readFileSync(new URL(`../../examples/worker/${name}`, import.meta.url), 'utf8');
      writeFileSync(join(path, name), text.replaceAll('"worker"', '"drawn"'));
      return join(path, name);
    });
    const applied = await musterOnTerminal(['apply', '-f', ...files, '--wait'], { env });
    expect(applied.code, applied.out).toBe(0);
    expect(applied.out).toMatch(/\u001b\[\d*A/);
    expect(applied.out).toMatch(/instance 1 {2,}\u001b\[32mHEALTHY/);
    expect(applied.out).toContain('\u001b[32mSUCCEEDED\u001b[39m');
    const { out } = await musterOnTerminal(['ps', 'drawn'], { env });
    expect(out).toMatch(/drawn-[0-9a-f]{12}-\S+ {2}\u001b\[32mRUNNING\u001b\[39m {2}\d+s +localhost/);
    expect(out).not.toContain('\t');
    const plainly = await musterOnTerminal(['ps', 'drawn'], { env: { ...env, NO_COLOR: '1' } });
    expect(plainly.out).not.toContain('\u001b');
    expect(plainly.out).toMatch(/drawn-[0-9a-f]{12}-\S+ {2}RUNNING/);
    await muster(['remove', 'drawn'], { env });
  }, 60_000);

  test('what a task prints does not drive the terminal, and reaches a pipe as it is', async () => {
    const evil = '\\033]0;owned\\007\\033[2Jred \\033[31mred\\n';
    const stdin = JSON.stringify({ id: 'evil', requestType: 'ON_DEMAND' }).concat(
      '\n---\n',
      JSON.stringify({
        deploy: {
          requestId: 'evil',
          command: `printf '${evil}'`,
          shell: true,
          resources: { cpus: 0.1, memoryMb: 16 },
        },
      }),
    );
    expect(await muster(['apply', '-f', '-', '--wait'], { env, stdin })).toMatchObject({ code: 0 });
    const shown = await musterOnTerminal(['run', 'evil'], { env });
    expect(shown.out).toContain('red \u001b[31mred');
    expect(shown.out).not.toContain('\u001b]0;');
    expect(shown.out).not.toContain('\u001b[2J');
    expect((await muster(['run', 'evil'], { env })).out).toBe('\u001b]0;owned\u0007\u001b[2Jred \u001b[31mred\n');
    expect((await muster(['cat', 'evil', 'stdout'], { env })).out).toContain('\u001b]0;owned');
    await muster(['remove', 'evil', '-m', 'a\u001b]0;b'], { env });
  }, 60_000);
});
