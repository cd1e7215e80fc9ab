import { afterEach, describe, expect, test, vi } from 'vitest';
import { makeDeploy, makeRequest } from '../../../test/support/builders.js';
import { AcceptanceChecks, type DeployAcceptanceCheck, type StepToAccept } from './deploy-acceptance.service.js';

const marker = { requestId: 'web', deployId: 'd1', timestamp: 0 };
const step: StepToAccept = {
  request: makeRequest(),
  deploy: makeDeploy(),
  pendingDeploy: { deployMarker: marker, currentDeployState: 'WAITING' },
  newTasks: [],
  endedNewTasks: [],
  otherTasks: [],
};
const run = (check: DeployAcceptanceCheck) => {
  const checks = new AcceptanceChecks();
  checks.bind(check);
  return checks.run([check.name], step);
};
afterEach(() => vi.useRealTimers());

test('there are no checks unless a room binds one', () => expect(new AcceptanceChecks().names()).toEqual([]));

test('two checks of one name are a mistake of the program', () => {
  const checks = new AcceptanceChecks();
  const check: DeployAcceptanceCheck = { name: 'a', check: () => Promise.resolve({ state: 'PENDING' }) };
  checks.bind(check);
  expect(() => checks.bind(check)).toThrow("There are two acceptance checks 'a'");
});

describe('a check that goes wrong', () => {
  const check = () => Promise.reject(new Error('no metrics'));
  test('fails the step', async () =>
    expect(await run({ name: 'a', check })).toEqual([
      { name: 'a', state: 'FAILED', message: 'The check went wrong: no metrics' },
    ]));
  test('unless it says that this does not matter', async () =>
    expect(await run({ name: 'a', failsOnError: false, check })).toEqual([
      { name: 'a', state: 'SUCCEEDED', message: 'The check went wrong, which is ignored: no metrics' },
    ]));
  test('because it does not answer is not waited for any longer', async () => {
    vi.useFakeTimers();
    const answer = run({ name: 'a', check: () => new Promise(() => undefined) });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await answer).toMatchObject([{ state: 'FAILED', message: 'The check went wrong: no answer within 10 s' }]);
  });
});

test('it is told about the step', async () => {
  const seen: StepToAccept[] = [];
  await run({
    name: 'a',
    check: (given) => {
      seen.push(given);
      return Promise.resolve({ state: 'SUCCEEDED' });
    },
  });
  expect(seen).toEqual([step]);
});
