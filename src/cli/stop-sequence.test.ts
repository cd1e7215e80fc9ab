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
      'Stopping in order (once more: now)',
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
