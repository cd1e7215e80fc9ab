import { relative } from 'node:path';

/**
 * What came of a run of tests and of the repeat of its failed files, of which only the repeat counts; undefined: there was none.
 * `run`: the exit code of vitest and its JSON report, which is undefined where it wrote none. `failed` and `recovered`, which failed
 * at first and passed when repeated, name each test behind the path of its file.
 */
export function outcomeOf(run, again, root) {
  if (!run.results) return { passed: 0, failed: ['vitest: it ended without a report'], recovered: [] };
  const repeated = new Map((again?.results?.testResults ?? []).map((file) => [file.name, file]));
  const files = run.results.testResults.map((file) => repeated.get(file.name) ?? file);
  const failed = files.flatMap((file) => failedIn(file, root));
  const last = again?.results ? again : run;
  // An error outside every test fails the run without a failed test.
  if (failed.length === 0 && last.code !== 0) failed.push('vitest: an error outside every test');
  const atFirst = run.results.testResults
    .filter(({ name }) => repeated.has(name))
    .flatMap((file) => failedIn(file, root));
  return {
    passed: files.reduce((sum, { assertionResults }) => sum + withStatus(assertionResults, 'passed').length, 0),
    failed,
    recovered: atFirst.filter((name) => !failed.includes(name)),
  };
}

/** A file that does not even load has no failed test. */
function failedIn({ name, status, assertionResults }, root) {
  if (status !== 'failed') return [];
  const tests = withStatus(assertionResults, 'failed').map(({ fullName }) => fullName);
  return (tests.length > 0 ? tests : ['the file itself']).map((test) => `${relative(root, name)}: ${test}`);
}

const withStatus = (tests, wanted) => tests.filter(({ status }) => status === wanted);
