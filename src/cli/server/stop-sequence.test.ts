import { afterEach, describe, expect, test } from 'vitest';
import { StopSequence } from './stop-sequence.js';

const lines: string[] = [];
const done: string[] = [];
afterEach(() => void (lines.length = done.length = 0));

const sequence = (): StopSequence => new StopSequence(['tasks', 'agent', 'database'], (line) => lines.push(line));
const step = (name: string, result?: string) => ({
  name,
  inOrder: async () => {
    done.push(name);
    return result;
  },
  atOnce: async () => void done.push(`${name} at once`),
});

describe('a stop in order', () => {
  test('takes the steps in the order of the list, not of their start, and tells what came of each', async () => {
    const stop = sequence();
    for (const name of ['database', 'tasks', 'agent']) stop.add(step(name, name === 'tasks' ? '3 stopped' : undefined));
    await stop.run();
    expect(done).toEqual(['tasks', 'agent', 'database']);
    expect(lines.map((line) => line.replace(/ \([\d.]+ s\)$/, ''))).toEqual([
      'Stopping in order (repeat to stop at once)',
      '  tasks: 3 stopped',
      '  agent: stopped',
      '  database: stopped',
    ]);
    expect(await stop.stopped).toBe(0);
  });

  test('goes on when a step fails, and says why it did', async () => {
    const stop = sequence();
    stop.add({ name: 'agent', inOrder: () => Promise.reject(new Error('does not end')) });
    stop.add(step('database'));
    await stop.run();
    expect(done).toEqual(['database']);
    expect(lines).toContain('  agent: does not end');
  });

  test('asked for twice happens once', async () => {
    const stop = sequence();
    stop.add(step('database'));
    await Promise.all([stop.run(), stop.run()]);
    expect(done).toEqual(['database']);
  });
});

describe('a stop that is asked for a second time', () => {
  test('takes no further step of the stop in order, however the present one ends', async () => {
    const stop = sequence();
    let databaseIsGone = (): void => undefined;
    stop.add({
      name: 'tasks',
      inOrder: () => new Promise((_, reject) => (databaseIsGone = () => reject(new Error('no database')))),
    });
    let tasksAreKilled = (): void => undefined;
    stop.add({
      ...step('agent'),
      atOnce: () => new Promise<void>((resolve) => (tasksAreKilled = resolve)),
    });
    stop.add({ ...step('database'), atOnce: async () => databaseIsGone() });
    stop.signalled();
    // The step in progress has begun by then.
    await new Promise((resolve) => setImmediate(resolve));
    stop.signalled();
    await new Promise((resolve) => setImmediate(resolve));
    tasksAreKilled();
    expect(await stop.stopped).toBe(1);
    expect(done).toEqual([]);
  });

  test('is a stop at once of everything that has not stopped yet', async () => {
    const stop = sequence();
    stop.add({ name: 'tasks', inOrder: () => new Promise(() => undefined) });
    for (const name of ['agent', 'database']) stop.add(step(name));
    stop.signalled();
    stop.signalled();
    stop.signalled();
    expect(await stop.stopped).toBe(1);
    expect(done).toEqual(['agent at once', 'database at once']);
    expect(lines.filter((line) => line === 'Stopping at once')).toHaveLength(1);
  });
});

describe('while the program is still starting', () => {
  test('a stop waits for the thing that is just starting, then stops it and starts nothing more', async () => {
    const stop = sequence();
    let databaseStarted = (): void => undefined;
    const starting = stop.start(
      async (checkpoint) => {
        await new Promise<void>((resolve) => (databaseStarted = resolve));
        stop.add(step('database'));
        checkpoint();
        stop.add(step('agent'));
      },
      () => done.push('failed'),
    );
    const stopping = stop.run();
    databaseStarted();
    await Promise.all([starting, stopping]);
    expect(done).toEqual(['database']);
    expect(await stop.stopped).toBe(0);
  });

  test('a failure is reported, what had started is stopped without a word, and the exit code is 1', async () => {
    const stop = sequence();
    await stop.start(
      async () => {
        stop.add(step('database'));
        throw new Error('port taken');
      },
      (cause) => done.push(String(cause)),
    );
    expect(done).toEqual(['Error: port taken', 'database']);
    expect(lines).toEqual([]);
    expect(await stop.stopped).toBe(1);
  });
});
