import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Installation, type Instance } from './support/product.js';

/** The commands of a page. */
const commandsOf = (name: string): string =>
  [...readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)]
    .map((match) => match[1]!)
    .join('\n');

const installation = new Installation();
let muster: Instance;
beforeAll(async () => {
  muster = await installation.start();
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

async function follow(name: string): Promise<string> {
  const { failed, output } = await new Promise<{ failed: boolean; output: string }>((resolve) => {
    execFile(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', commandsOf(name)],
      { timeout: 150_000, env: { ...process.env, MUSTER_PORT: String(muster.port) } },
      (error, stdout, stderr) => resolve({ failed: error !== null, output: stdout + stderr }),
    );
  });
  expect(failed, output).toBe(false);
  expect(output).not.toMatch(/"status":[45]\d\d/);
  return output;
}

test('docs/first-job.md does what it says', async () => {
  const output = await follow('first-job.md');
  for (const shown of [
    '"timeZone":"Europe/Paris"',
    'report of Monday\\nreport of Tuesday',
    '"lastTaskState":"TASK_FAILED"',
    'TASK_EXCEEDED_TIME_LIMIT',
    '"enableCanaryDeploy":true',
    '"deployState":"SUCCEEDED"',
  ])
    expect(output).toContain(shown);
}, 180_000);

test('the commands of docs/webhooks.md do what it says', async () => {
  const output = await follow('webhooks.md');
  expect(output).toMatch(/^"CREATED"\[\{"webhook":.*"uri":"https:\/\/example.com\/hook\/\$REQUEST_ID".*"DELETED"$/s);
  expect(output).not.toContain('change-this');
}, 60_000);
