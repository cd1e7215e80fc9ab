import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isAlive, isLive, ownIdentity, parseStat, readStat } from './process-identity.js';

const rest = 'S 1 42 42 0 -1 4194304 66 0 0 0 7 8 1 2 20 0 3 0 301880 2654208 358 18446744073709551615';

test.each([
  { name: 'a usual name', line: `42 (sh) ${rest}` },
  { name: 'a name that looks like the rest', line: `42 (a) R 9 9 9 (b) ${rest}` },
  { name: 'a name with spaces and newlines', line: `42 (tmux: \n server) ${rest}` },
])('reads $name', ({ line }) =>
  expect(parseStat(line)).toEqual({
    pid: 42,
    state: 'S',
    parent: 1,
    session: 42,
    userTicks: 8,
    systemTicks: 10,
    threads: 3,
    startTime: '301880',
    residentPages: 358,
  }),
);

test.each(['', 'nonsense', '42 (sh', '42 (sh) S 1'])('does not read %j', (line) =>
  expect(parseStat(line)).toBeUndefined(),
);

test('a process is itself while it lives, and no other is', () => {
  const self = ownIdentity();
  expect(isAlive(self)).toBe(true);
  expect(isAlive({ ...self, startTime: '1' })).toBe(false);
  expect(isAlive({ ...self, pid: 2 ** 22 })).toBe(false);
});

test('a process that has ended is not alive, even while its parent has not noticed', async () => {
  // The inner shell ends when the outer one has become a program that does not wait for it.
  const untilThen = 'until [ "$(cat /proc/$PPID/comm)" = sleep ]; do :; done';
  const parent = spawn('/bin/sh', ['-c', 'sh -c "$0" & echo $!; exec sleep 600', untilThen], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  while (readStat(pid)?.state !== 'Z') await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isLive(readStat(pid))).toBe(false);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
});
