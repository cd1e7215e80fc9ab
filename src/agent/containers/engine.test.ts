import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { ContainerSettings } from '../../platform/settings/container-settings.js';
import { allProcesses, variableOf } from '../processes/processes.js';
import { askEngine, EngineFailure, EngineHangs, EngineTrouble, EngineWatch } from './engine.js';

const directory = tempFolder();
afterAll(() => directory.remove());

/** A program that stands for an engine. */
function program(name: string, script: string): string {
  const path = join(directory.path, name);
  writeFileSync(path, `#!/bin/sh\n${script}`);
  chmodSync(path, 0o755);
  return path;
}
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const found = async (engine: string, controller = new AbortController()) => {
  const watch = new EngineWatch(ContainerSettings.parse({ engine }), log, controller.signal);
  watch.begin();
  const result = await watch.engine();
  controller.abort();
  return { result, works: watch.refusal === '' };
};

test('an answer is what was written, a failure the last line of the complaint', async () => {
  const path = program('fails', 'cat; echo one >&2; echo two >&2; [ "$1" = ok ]');
  const ask = (word: string) => askEngine({ words: [path] }, [word], { timeoutMillis: 10_000, input: 'in' });
  expect(await ask('ok')).toBe('in');
  await expect(ask('no')).rejects.toThrow(new EngineFailure('two'));
  const full = askEngine({ words: [program('full', 'echo "Error: no space left on device" >&2; exit 125')] }, [], {
    timeoutMillis: 10_000,
  });
  await expect(full).rejects.toThrow(EngineTrouble);
  await expect(ask('no')).rejects.not.toThrow(EngineTrouble);
  await expect(askEngine({ words: ['/no/such'] }, ['x'], { timeoutMillis: 10_000 })).rejects.toThrow('ENOENT');
});

test('one that hangs is given up in time, with what it has started', async () => {
  const path = program('hangs', 'sleep 60 & sleep 60');
  const sandbox = join(directory.path, 'sandbox');
  const begun = performance.now();
  await expect(askEngine({ words: [path] }, ['pull'], { timeoutMillis: 300, sandbox })).rejects.toThrow(EngineHangs);
  expect(performance.now() - begun).toBeLessThan(5_000);
  await expect
    .poll(() => allProcesses().filter(({ pid }) => variableOf(pid, 'CLUSTER_SANDBOX') === sandbox))
    .toEqual([]);
});

test('one whose child keeps its outputs open is answered all the same, and an abort ends it', async () => {
  const path = program('leaves', 'sleep 5 & echo done');
  expect(await askEngine({ words: [path] }, [], { timeoutMillis: 4_000 })).toBe('done\n');
  const controller = new AbortController();
  const asked = askEngine({ words: [program('waits', 'sleep 60')] }, [], {
    timeoutMillis: 60_000,
    signal: controller.signal,
  });
  controller.abort(new Error('killed'));
  await expect(asked).rejects.toThrow('killed');
});

test('nothing of a task and nothing unknown is in its environment', async () => {
  process.env.LD_PRELOAD_TEST = 'x';
  const text = await askEngine({ words: [program('env', 'env')] }, [], { timeoutMillis: 10_000 });
  delete process.env.LD_PRELOAD_TEST;
  expect(text).not.toContain('LD_PRELOAD_TEST');
  expect(text).toContain('PATH=');
});

test('proxies of the agent are for what speaks with a registry alone', async () => {
  process.env.https_proxy = 'http://user:secret@proxy';
  const path = program('proxies', 'env');
  const ask = (word: string) => askEngine({ words: [path] }, [word], { timeoutMillis: 10_000 });
  const [create, start, pull, login] = await Promise.all(['create', 'start', 'pull', 'login'].map(ask));
  delete process.env.https_proxy;
  expect(create! + start!).not.toContain('secret');
  for (const text of [pull, login]) expect(text).toContain('https_proxy=http://user:secret@proxy');
});

test('the engine of the machine is found, by what it is and not by its name', async () => {
  const podman = program(
    'docker',
    'case "$1" in --version) echo podman version 9;; info) echo 9.8; echo /images;; *) exit 1;; esac',
  );
  expect((await found(podman)).result).toMatchObject({ kind: 'podman', version: '9.8', storage: '/images' });
  const dockerless = program(
    'd',
    '[ "$1" = --version ] && { echo Docker version 1; exit; }; echo no daemon >&2; exit 1',
  );
  expect(await found(dockerless)).toEqual({ result: `${dockerless}: no daemon`, works: false });
  expect(await found('off')).toEqual({ result: 'cluster.local.containers.engine is off', works: false });
  expect((await found('/no/such/program')).result).toBe('/no/such/program is not installed');
});
