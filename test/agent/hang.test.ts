import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hangGuard } from '../support/agent-programs.js';
import { spawnNode, type TestProcess } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';

const folder = tempFolder();
beforeAll(() => {
  execFileSync('mkfifo', [join(folder.path, 'pipe')]);
});
afterAll(() => folder.remove());

/** A process under the guard that does `work` at SIGUSR2. */
async function guarded(work: string): Promise<TestProcess> {
  const program = join(folder.path, `guarded-${Math.random()}.mjs`);
  writeFileSync(
    program,
    `import fs from 'node:fs';
     import { guardAgainstHangs } from ${JSON.stringify(hangGuard)};
     guardAgainstHangs(${JSON.stringify(folder.path)}, 2);
     setInterval(() => undefined, 1e6);
     process.on('SIGUSR2', () => { ${work} });
     console.log('ready');`,
  );
  const running = spawnNode([program]);
  await running.line('ready');
  return running;
}

test.each([
  { what: 'whose event loop turns no more', work: 'for (;;);' },
  {
    what: 'whose threads for files all wait',
    work: `for (let i = 0; i < 4; i++) fs.open(${JSON.stringify(join(folder.path, 'pipe'))}, () => undefined);`,
  },
])('a process $what is ended', async ({ work }) => {
  const running = await guarded(work);
  const ended = once(running.child, 'exit');
  running.child.kill('SIGUSR2');
  expect(await ended).toEqual([null, 'SIGKILL']);
});

test('a process that was stopped for longer, or is only busy, is not', async () => {
  const running = await guarded('const end = Date.now() + 800; while (Date.now() < end);');
  running.child.kill('SIGSTOP');
  await delay(4_000);
  running.child.kill('SIGCONT');
  running.child.kill('SIGUSR2');
  await delay(3_500);
  expect([running.child.exitCode, running.child.signalCode]).toEqual([null, null]);
  await running.kill();
});
