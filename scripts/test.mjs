import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setUp } from './setup.mjs';
import { outcomeOf } from './test-results.mjs';

/**
 * `npm test`: the set-up, then the tests of every day; `npm run test:deep`: a part of those that take long (test/support/steps.ts), with
 * `--all` all of them.
 * With paths, all tests below these. At the end: the slowest files, calls and tests that were repeated, the failed tests, and how many
 * passed. Tests that passed only when repeated are added to the file that MUSTER_REPEATED_TESTS names, failed ones to MUSTER_FAILED_TESTS.
 */
const given = process.argv.slice(2);
const isDeep = given.includes('--deep');
const chosen = given.filter((argument) => argument !== '--deep' && argument !== '--all');
await setUp();
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'muster-report-'));
const report = join(folder, 'report.json');
const repeatedCalls = join(folder, 'repeated-calls');
// NODE_ENV=production would change what the tested code does.
const env = { ...process.env, NODE_ENV: 'test', MUSTER_REPEATED_CALLS: repeatedCalls };
const namesPaths = chosen.some((argument) => !argument.startsWith('-'));
if (isDeep) env.MUSTER_TEST_STEP = 'deep';
else if (!namesPaths) env.MUSTER_TEST_STEP = 'daily';
if (isDeep && !namesPaths && !given.includes('--all')) Object.assign(env, partOfDeep());
const first = await run(report, chosen);
const { results } = first;
const { passed, failed, recovered } = outcomeOf(first, await repeatFailed(), root);
tellSlowest();
tellRepeated();
tellTests('Tests that failed at first and passed when repeated alone', recovered, process.env.MUSTER_REPEATED_TESTS);
tellTests('Failed', failed, process.env.MUSTER_FAILED_TESTS);
rmSync(folder, { recursive: true, force: true });
console.log(`${passed} passed, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);

async function run(outputFile, files, ...options) {
  const vitest = join('node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${outputFile}`];
  const args = [vitest, 'run', ...reporters, ...options, ...files];
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
  const end = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, end);
  const exitCode = await new Promise((resolve) => child.once('close', (given) => resolve(given ?? 1)));
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, end);
  return { code: exitCode, results: read(outputFile, JSON.parse) };
}

/**
 * The files with a failed test are run once more, one at a time: a test of real processes that fails only while others keep
 * the machine busy is told apart from one that is broken. Which ones they were is printed, so that they are looked into.
 */
async function repeatFailed() {
  const files = (results?.testResults ?? []).filter(({ status }) => status === 'failed');
  if (env.MUSTER_TEST_STEP === undefined || files.length === 0 || files.length > 5) return undefined;
  const names = files.map(({ name }) => relative(root, name));
  console.log(`Repeated alone: ${names.join(', ')}`);
  return run(join(folder, 'again.json'), names, '--maxWorkers=1');
}

/**
 * All long tests take an hour: of most folders and random schedules a third, and of the points at which a story is cut an eighth. The
 * seed, the beginning of the hash of the committed src, says which: another program is tried on others, the same gets the same verdict.
 */
function partOfDeep() {
  const { DEEP_EVERY = '3', CRASH_POINTS_EVERY = '8', LAWS_SEED = seedOfProgram() } = process.env;
  return { DEEP_EVERY, CRASH_POINTS_EVERY, LAWS_SEED };
}

function seedOfProgram() {
  try {
    const tree = execFileSync('git', ['rev-parse', 'HEAD:src'], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    return String(Number.parseInt(tree.slice(0, 7), 16));
  } catch {
    return '0';
  }
}

/** Each on a line of its own, and added to the file, so that they are looked into. */
function tellTests(heading, tests, file) {
  console.log(`${heading}: ${tests.length}`);
  for (const test of tests) console.log(`  ${test}`);
  if (file) appendFileSync(file, tests.map((test) => `${test}\n`).join(''));
}

function tellSlowest() {
  const files = (results?.testResults ?? [])
    .map(({ name, startTime, endTime }) => ({ path: relative(root, name), seconds: (endTime - startTime) / 1_000 }))
    .toSorted((a, b) => b.seconds - a.seconds);
  if (files.length < 2) return;
  console.log('The slowest files:');
  for (const { path, seconds } of files.slice(0, 10)) console.log(`${seconds.toFixed(1).padStart(8)} s  ${path}`);
}

/** Tests that call the built product repeat a call that is answered 503: each is told, so that none goes unseen. */
function tellRepeated() {
  const calls = (read(repeatedCalls, String) ?? '').split('\n').filter(Boolean);
  const times = new Map();
  for (const call of calls) times.set(call, (times.get(call) ?? 0) + 1);
  console.log(`Calls repeated because they were answered 503: ${calls.length}`);
  for (const [call, number] of times) console.log(`${String(number).padStart(8)} x  ${call}`);
}

function read(file, parse) {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
