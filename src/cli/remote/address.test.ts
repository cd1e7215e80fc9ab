import { chmodSync, chownSync, lchownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { addressOf } from './address.js';

const stranger = 65_534;
const asRoot = process.getuid?.() === 0;

/** A working directory with what a server there has written down. */
function scene(text = 'http://127.0.0.1:7398\n'): { folder: string; dataDir: string; file: string } {
  const { path: folder, remove } = tempFolder();
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => (process.chdir(before), remove()));
  const dataDir = join(folder, '.muster');
  mkdirSync(dataDir, { mode: 0o711 });
  writeFileSync(join(dataDir, 'address'), text, { mode: 0o644 });
  return { folder, dataDir, file: join(dataDir, 'address') };
}

const found = (more: Record<string, string> = {}) =>
  addressOf({}, { environment: { MUSTER_TOKEN: 'a-secret', HOME: '/nonexistent', ...more }, argv: [], exitCode: 0 });

describe('an address that lies in the working directory', () => {
  test('is believed, with the token, where it is the own one', () => {
    scene();
    expect(found()).toEqual({ url: 'http://127.0.0.1:7398', token: 'a-secret' });
  });

  test.each([
    ['http://192.0.2.7:7099', '192.0.2.7'],
    ['http://localhost.example.com:7099', 'localhost.example.com'],
    ['http://127.0.0.1.example.com', '127.0.0.1.example.com'],
  ])('is not believed when it is %s', (text, host) => {
    scene(text);
    expect(found).toThrow(`${host} is no loopback address`);
  });

  test.each(['file', 'dataDir'] as const)('is not believed when others may change its %s', (what) => {
    const place = scene();
    chmodSync(place[what], what === 'file' ? 0o666 : 0o777);
    expect(found).toThrow(`others may change ${place[what]}: name the server by --url`);
  });

  test.runIf(asRoot).each(['file', 'dataDir'] as const)('is not believed when its %s is of another user', (what) => {
    const place = scene();
    chownSync(place[what], stranger, stranger);
    expect(found).toThrow(`${place[what]} belongs to user ${stranger}`);
  });

  test.runIf(asRoot)("is not believed when a link of another user leads to a folder of the caller's", () => {
    const { folder, dataDir } = scene();
    renameSync(dataDir, join(folder, 'mine'));
    symlinkSync('mine', dataDir);
    lchownSync(dataDir, stranger, stranger);
    expect(found).toThrow(`${dataDir} belongs to user ${stranger}`);
  });

  test('is believed, whosever it is, where MUSTER_DATA_DIR names the folder', () => {
    const { dataDir } = scene('http://192.0.2.7:7099');
    chmodSync(dataDir, 0o777);
    expect(found({ MUSTER_DATA_DIR: dataDir }).url).toBe('http://192.0.2.7:7099');
  });
});
