import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { ContainerSettings } from '../../platform/settings/container-settings.js';
import { Images } from './images.js';

const dayMillis = 24 * 60 * 60 * 1000;
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Images that were used last in this order, long ago, and an engine whose removals take until the test lets them go. */
function scene(names: readonly string[]) {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const program = join(path, 'engine');
  writeFileSync(program, `#!/bin/sh\necho "$*" >>'${path}/asked'\nuntil [ -e '${path}/go' ]; do sleep 0.02; done\n`);
  chmodSync(program, 0o755);
  const records = Object.fromEntries(names.map((name, usedAt) => [name, { id: `sha256:${name}`, bytes: 1, usedAt }]));
  writeFileSync(join(path, 'images.json'), JSON.stringify(records));
  const context = {
    directory: { root: path },
    settings: { containers: ContainerSettings.parse({ imageKeepDays: 1 }) },
    log,
    stopping: new AbortController().signal,
    now: () => 10 * dayMillis,
    engines: { engine: async () => ({ words: [program] }) },
  };
  const asked = (): string[] =>
    existsSync(join(path, 'asked')) ? readFileSync(join(path, 'asked'), 'utf8').trim().split('\n') : [];
  const letGo = (): void => writeFileSync(join(path, 'go'), '');
  return { images: new Images(context as unknown as ConstructorParameters<typeof Images>[0]), asked, letGo };
}
const taskOf = (image: string) =>
  ({ container: { type: 'DOCKER', docker: { image } } }) as unknown as Pick<LaunchSpec, 'container'>;

test('an image is kept that a task takes while another one is being removed', async () => {
  const { images, asked, letGo } = scene(['old:1', 'old:2', 'old:3']);
  const tasks: Pick<LaunchSpec, 'container'>[] = [];
  const swept = images.sweep(() => tasks, false);
  await expect.poll(asked).toHaveLength(1);
  tasks.push(taskOf('old:2'));
  letGo();
  await swept;
  expect(asked()).toEqual(['rmi -- old:1', 'rmi -- old:3']);
});
