import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { ContainerSettings } from '../../platform/settings/container-settings.js';
import { hostPathsOf } from './host-paths.js';

const isRoot = process.getuid?.() === 0;

/** Machine on which volumes of these directories are allowed; paths are below a new directory. */
function machine(allowed: readonly string[], settings: object = {}) {
  const { path: root, remove } = tempFolder();
  onTestFinished(remove);
  const at = (path: string) => join(root, path);
  mkdirSync(at('share/a/b'), { recursive: true });
  const containers = ContainerSettings.parse({ ...settings, allowedHostPaths: allowed.map(at) });
  const directory = { root: at('agent'), allSandboxes: [at('agent/sandboxes')] };
  const show = async (path: string) => {
    const info = { type: 'DOCKER' as const, volumes: [{ containerPath: '/v', hostPath: at(path) }] };
    const [shown] = await hostPathsOf(info, { settings: { containers }, directory });
    return shown?.slice(root.length + 1);
  };
  return { at, show };
}

test.skipIf(!isRoot)('a part of a folder is shown where none but root can change what it is', async () => {
  const { at, show } = machine(['share']);
  expect(await show('share/a/b')).toBe('share/a/b');
  for (const open of ['share', 'share/a']) {
    chmodSync(at(open), 0o1777);
    await expect(show('share/a/b')).rejects.toThrow(`others can change ${at(open)}`);
    chmodSync(at(open), 0o755);
  }
});

test('while containers may be root, or the agent is not, folders are shown whole', async () => {
  const { at, show } = machine(['share', 'share/a'], { runAs: 'IMAGE_USER' });
  expect(await show('share')).toBe('share');
  for (const part of ['share/a', 'share/a/b'])
    await expect(show(part)).rejects.toThrow(`others can change ${at(part === 'share/a' ? 'share' : 'share/a')}`);
});

test('a link that has taken the place of an allowed folder shows nothing else', async () => {
  const { at, show } = machine(['share', 'share/link']);
  symlinkSync('/etc', at('share/link'));
  chmodSync(at('share'), 0o777);
  for (const path of ['share/link', 'share/link/ssl'])
    await expect(show(path)).rejects.toThrow(/others can change|no such path/);
});

test('what lies above an allowed folder must not be changed by others, but for the sticky bit', async () => {
  const { at, show } = machine(['share/a']);
  chmodSync(at('share'), 0o777);
  await expect(show('share/a')).rejects.toThrow(`others can change ${at('share')}`);
  chmodSync(at('share'), 0o1777);
  expect(await show('share/a')).toBe('share/a');
});
