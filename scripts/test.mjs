import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.mjs';
import { failWith, say } from './say.mjs';
import { root, setUp } from './setup.mjs';

async function test() {
  await setUp();
  const report = join(root, '.setup', `tests-${process.pid}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', ...reporters, ...process.argv.slice(2)];
  const code = await run(process.execPath, args, { cwd: root, env: { ...process.env, NODE_ENV: 'test' } });
  let failed = code;
  try {
    const result = JSON.parse(readFileSync(report, 'utf8'));
    rmSync(report);
    // A file that cannot be loaded holds no failed test, and is one failure all the same.
    const broken = result.testResults.filter(
      (file) => file.status === 'failed' && file.assertionResults.every((one) => one.status !== 'failed'),
    );
    failed = result.numFailedTests + broken.length;
    if (code !== 0) failed ||= 1;
    say(`${result.numPassedTests} passed, ${failed} failed`);
  } catch (cause) {
    say(`The test report cannot be read: ${cause.message}`);
    say(`0 passed, 1 failed`);
    failed = 1;
  }
  process.exitCode = failed === 0 ? 0 : 1;
}

await test().catch(failWith);
