import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { spawnNode, type TestProcess } from '../support/spawn.js';
import { waitFor } from '../support/wait-for.js';

const progress = fileURLToPath(new URL('../../scripts/progress.mjs', import.meta.url));
let running: TestProcess;
afterEach(() => running.kill());

test('work that takes long shows again and again which step it is at, also where nothing can be drawn', async () => {
  const program = `import { during } from ${JSON.stringify(progress)};
    const told = new Promise((resolve) => process.once('SIGTERM', resolve));
    await during('Building', async (step) => {
      step('the program, 2 of 5');
      await told;
    }, { still: 'still building', everyMillis: 10 });`;
  running = spawnNode(['--input-type=module', '-e', program]);
  const repeated = (): boolean =>
    running.lines.filter((line) => line.startsWith('  still building: the program, 2 of 5 (')).length > 1;
  await waitFor('the step, twice', repeated);
  running.child.kill('SIGTERM');
  await waitFor('its end', () => running.child.exitCode === 0);
  expect(running.lines[0]).toBe('Building');
  expect(running.lines.at(-1)).toMatch(/^ {2}done in \d+ s$/);
});
