import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import { readAgain } from './read-again';

const key = ['who', 'settings'];

/** A panel that shows what the service has, whose answers come when the test says so. */
function stage() {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const service = { value: 'old' };
  const answers: (() => void)[] = [];
  const read = (): Promise<string> => {
    const { value } = service;
    return new Promise((resolve) => answers.push(() => resolve(value)));
  };
  const observer = new QueryObserver<string>(queries, { queryKey: key, queryFn: read, staleTime: Infinity });
  const stop = observer.subscribe(() => undefined);
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
  const answer = async (): Promise<void> => {
    answers.shift()?.();
    await turn();
  };
  return { queries, service, answers, answer, turn, shown: () => observer.getCurrentResult().data, stop };
}

test('a change during the first read is shown, though that read was answered before it', async () => {
  const { queries, service, answer, answers, shown, stop } = stage();
  service.value = 'new';
  const read = readAgain(queries, key);
  await answer();
  expect([shown(), answers.length]).toEqual(['old', 1]);
  await answer();
  await read;
  expect([shown(), answers.length]).toEqual(['new', 0]);
  stop();
});

test('changes that come faster than answers do not keep the answers away, and the last of them is shown', async () => {
  const { queries, service, answer, answers, turn, shown, stop } = stage();
  await answer();
  const reads: Promise<void>[] = [];
  for (const value of ['a', 'b', 'c', 'd']) {
    service.value = value;
    reads.push(readAgain(queries, key));
    await turn();
  }
  expect(answers.length).toBe(1);
  await answer();
  expect(shown()).toBe('a');
  await answer();
  await Promise.all(reads);
  expect([shown(), answers.length]).toEqual(['d', 0]);
  stop();
});

test('what nothing was read of is left alone, and what is not under way is read once', async () => {
  const { queries, answer, answers, turn, stop } = stage();
  await answer();
  void readAgain(queries, ['tasks']);
  await turn();
  expect(answers.length).toBe(0);
  void readAgain(queries, ['who']);
  await turn();
  expect(answers.length).toBe(1);
  await answer();
  expect(answers.length).toBe(0);
  stop();
});
