import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { spawnTs } from '../../../test/support/spawn.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { holderOf, processStart, releasePidFile, takePidFile } from './pid-file.js';

function file(): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  return join(path, 'muster.pid');
}

describe('a pid file', () => {
  test('is taken by one process only, and can be taken again after its release', () => {
    const path = file();
    expect(takePidFile(path)).toBeUndefined();
    expect(takePidFile(path)).toBe(process.pid);
    expect(holderOf(path)).toBe(process.pid);
    releasePidFile(path);
    expect(existsSync(path)).toBe(false);
    expect(takePidFile(path)).toBeUndefined();
  });

  test('of a process that has ended counts for nothing', async () => {
    const path = file();
    const child = spawn('sleep', ['60']);
    writeFileSync(path, JSON.stringify({ pid: child.pid, startedAt: processStart(child.pid!) }));
    expect(takePidFile(path)).toBe(child.pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(holderOf(path)).toBeUndefined();
    expect(takePidFile(path)).toBeUndefined();
  });

  test.each([
    ['whose pid another process has now', JSON.stringify({ pid: process.pid, startedAt: 'earlier' })],
    ['that is empty', ''],
    ['that is something else', '{"pid":'],
  ])('%s counts for nothing', (_name, content) => {
    const path = file();
    writeFileSync(path, content);
    expect(takePidFile(path)).toBeUndefined();
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid });
  });

  test('of another process is not released', async () => {
    const path = file();
    const child = spawn('sleep', ['60']);
    onTestFinished(() => void child.kill('SIGKILL'));
    writeFileSync(path, JSON.stringify({ pid: child.pid, startedAt: processStart(child.pid!) }));
    releasePidFile(path);
    expect(holderOf(path)).toBe(child.pid);
  });

  test('of a process of an earlier boot counts for nothing, though a process has its number and its start now', () => {
    const path = file();
    writeFileSync(path, JSON.stringify({ pid: process.pid, startedAt: processStart(process.pid), boot: 'another' }));
    expect(holderOf(path)).toBeUndefined();
    expect(takePidFile(path)).toBeUndefined();
  });

  test('that is stale, with what a crash in the middle of its replacement leaves behind, is taken by one of several', async () => {
    const path = file();
    const stale = JSON.stringify({ pid: process.pid, startedAt: 'earlier' });
    const others = JSON.stringify({ pid: process.pid, startedAt: 'earlier still' });
    writeFileSync(path, stale);
    writeFileSync(`${path}.${createHash('sha256').update(stale).digest('hex').slice(0, 16)}`, others);
    const programs = Array.from({ length: 3 }, () =>
      spawnTs(new URL('../../../test/support/programs/pid-file.ts', import.meta.url), [path]),
    );
    onTestFinished(async () => void (await Promise.all(programs.map((program) => program.kill()))));
    await Promise.all(programs.map((program) => program.line('ready', 60_000)));
    writeFileSync(`${path}.go`, '');
    const holders = await Promise.all(programs.map((program) => program.line('holder ')));
    expect(holders.filter((holder) => holder === 'none')).toHaveLength(1);
    const { pid } = JSON.parse(readFileSync(path, 'utf8')) as { pid: number };
    expect(new Set(holders)).toEqual(new Set(['none', String(pid)]));
  }, 90_000);
});
