import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setUp } from './setup.mjs';

/**
 * `npm run test:security`: the tests that docs/internals/security-findings.md names for its findings, and for each finding how many of them
 * held. Where this is root they are run twice: as root, and as an ordinary user in a copy of this folder.
 */
const page = 'docs/internals/security-findings.md';
const ordinary = { uid: 65_534, gid: 65_534 };
const root = fileURLToPath(new URL('..', import.meta.url));
await setUp();
const findings = readFindings();
const files = [...new Set(findings.flatMap((finding) => finding.files))];
const folder = mkdtempSync(join(tmpdir(), 'muster-security-'));
const runs = [];
try {
  if (process.getuid?.() === 0) {
    runs.push({ who: 'root', results: await run(root, {}) });
    runs.push({ who: 'ordinary user', results: await runAsOrdinaryUser() });
  } else {
    runs.push({ who: 'ordinary user', results: await run(root, {}) });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const total = { passed: 0, failed: 0 };
for (const { who, results } of runs) tell(who, results);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);

/** Rows of the table of findings: an id, and links to the files of its tests. */
function readFindings() {
  const rows = readFileSync(join(root, page), 'utf8').split('\n');
  return rows.flatMap((row) => {
    const [, id, , tests = ''] = row.split('|').map((cell) => cell.trim());
    if (!/^[A-Z]\d+[a-z]?$/.test(id ?? '')) return [];
    const named = [...tests.matchAll(/\]\(\.\.\/\.\.\/([\w./-]+)\)/g)].map(([, file]) => file);
    if (named.length === 0) throw new Error(`${page} names no test of ${id}`);
    return [{ id, files: named }];
  });
}

async function run(cwd, options) {
  const report = join(folder, `${options.uid ?? 'own'}.json`);
  const vitest = join('node_modules', 'vitest', 'vitest.mjs');
  const args = [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...files];
  const env = { ...process.env, NODE_ENV: 'test', ...options.env };
  const child = spawn(process.execPath, args, { cwd, stdio: 'inherit', ...options, env });
  const end = (signal) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, end);
  const code = await new Promise((resolve) => child.once('close', resolve));
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, end);
  const tests = new Map();
  for (const { name, status, assertionResults } of JSON.parse(readFileSync(report, 'utf8')).testResults) {
    const count = (wanted) => assertionResults.filter((result) => result.status === wanted).length;
    // A file that does not even load has no failed test.
    const failed = count('failed') || (status === 'failed' ? 1 : 0);
    tests.set(relative(cwd, name), {
      passed: count('passed'),
      failed,
      skipped: assertionResults.length - count('passed') - count('failed'),
    });
  }
  return { code, tests };
}

/** In a copy whose folders are that user's: tests write what they compile. The files themselves are shared where they can be. */
async function runAsOrdinaryUser() {
  const copy = join(folder, 'copy');
  const copied = spawnSync('cp', ['-al', root, copy]).status === 0 || spawnSync('cp', ['-a', root, copy]).status === 0;
  if (!copied) throw new Error(`Cannot copy ${root} to ${copy}`);
  const owner = `${ordinary.uid}:${ordinary.gid}`;
  execFileSync('find', [copy, '-type', 'd', '-exec', 'chown', owner, '{}', '+']);
  for (const path of [folder, copy]) chmodSync(path, 0o755);
  execFileSync('chown', [owner, folder]);
  const home = mkdtempSync(join(folder, 'home-'));
  execFileSync('chown', [owner, home]);
  return run(copy, { ...ordinary, env: { HOME: home } });
}

function tell(who, { code, tests }) {
  console.log(`As ${who}:`);
  for (const finding of findings) {
    const counts = finding.files.map((file) => tests.get(file) ?? { passed: 0, failed: 1, skipped: 0 });
    const sum = (member) => counts.reduce((all, count) => all + count[member], 0);
    const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} not for this user` : '';
    console.log(`${finding.id.padStart(6)}  ${sum('passed')} passed, ${sum('failed')} failed${skipped}`);
  }
  const all = [...tests.values()];
  const failed = all.reduce((sum, count) => sum + count.failed, 0);
  total.passed += all.reduce((sum, count) => sum + count.passed, 0);
  total.failed += failed || (code === 0 ? 0 : 1);
}
