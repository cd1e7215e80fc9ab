import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BatchedRead, SharedRead, SharedReads } from './reads.js';

/** A source whose reads end when the test says so. Each read sees what stood there when it began. */
class Source {
  value = 0;
  readonly underWay: (() => void)[] = [];
  begun = 0;

  read = (): Promise<number> => {
    this.begun++;
    const seen = this.value;
    return new Promise((resolve) => this.underWay.push(() => resolve(seen)));
  };

  /** Ends the read under way, if any, and lets follow what follows. */
  async end(): Promise<void> {
    this.underWay.shift()?.();
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a shared read', () => {
  test('is one for all who ask together, and begins when they have', async () => {
    const source = new Source();
    const shared = new SharedRead(source.read);
    const asked = [shared.ask(), shared.ask()];
    expect(source.begun).toBe(0);
    source.value = 1;
    asked.push(shared.ask());
    await settled();
    await source.end();
    expect(await Promise.all(asked)).toEqual([1, 1, 1]);
    expect(source.begun).toBe(1);
  });

  test('is one for all who ask while another is under way, and begins when that has ended', async () => {
    const source = new Source();
    const shared = new SharedRead(source.read);
    const first = shared.ask();
    await settled();
    const others = [shared.ask(), shared.ask(), shared.ask()];
    source.value = 1;
    await settled();
    expect(source.begun).toBe(1);
    await source.end();
    await source.end();
    expect([await first, ...(await Promise.all(others))]).toEqual([0, 1, 1, 1]);
    expect(source.begun).toBe(2);
    expect(shared.isIdle).toBe(true);
  });

  test('that fails, even at once, fails for those who share it and not for who asks after', async () => {
    let failing = true;
    const shared = new SharedRead((): Promise<string> => {
      if (failing) throw new Error('away');
      return Promise.resolve('back');
    });
    const first = shared.ask();
    const second = shared.ask();
    await expect(first).rejects.toThrow('away');
    await expect(second).rejects.toThrow('away');
    failing = false;
    expect(await shared.ask()).toBe('back');
  });

  test('never tells what was true before it was asked, and is never made twice at a time', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom('ask', 'write', 'end', 'pause'), { maxLength: 40 }), async (steps) => {
        const source = new Source();
        const shared = new SharedRead(source.read);
        const answers: Promise<{ asked: number; told: number }>[] = [];
        for (const step of steps) {
          if (step === 'ask') {
            const asked = source.value;
            answers.push(shared.ask().then((told) => ({ asked, told })));
          }
          if (step === 'write') source.value++;
          if (step === 'end') source.underWay.shift()?.();
          if (step === 'pause') await settled();
          expect(source.underWay.length).toBeLessThanOrEqual(1);
        }
        while (!shared.isIdle) await source.end();
        for (const { asked, told } of await Promise.all(answers)) expect(told).toBeGreaterThanOrEqual(asked);
      }),
    ));
});

test('reads by key are shared by those with the same key only, and forgotten when none asks', async () => {
  const sources = { a: new Source(), b: new Source() };
  const shared = new SharedReads<number>();
  const ask = (key: 'a' | 'b') => shared.ask(key, sources[key].read);
  const asked = [ask('a'), ask('b')];
  await settled();
  asked.push(ask('a'), ask('a'));
  expect([sources.a.begun, sources.b.begun]).toEqual([1, 1]);
  for (const source of [sources.a, sources.b, sources.a]) await source.end();
  await Promise.all(asked);
  expect([sources.a.begun, sources.b.begun]).toEqual([2, 1]);
  expect(shared.size).toBe(0);
});

test('what is asked for together, or while two batches are under way, is read together, each key once', async () => {
  const batches: (readonly string[])[] = [];
  const batched = new BatchedRead(async (keys: readonly string[]) => {
    batches.push(keys);
    await settled();
    await settled();
    return new Map(keys.filter((key) => key !== 'missing').map((key) => [key, `${key}!`]));
  });
  const ask = (...keys: string[]) => keys.map((key) => batched.ask(key));
  const asked = ask('a', 'b', 'a');
  await settled();
  asked.push(...ask('c'));
  await settled();
  asked.push(...ask('missing', 'd', 'c', 'd'));
  expect(await Promise.all(asked)).toEqual(['a!', 'b!', 'a!', 'c!', undefined, 'd!', 'c!', 'd!']);
  expect(batches).toEqual([['a', 'b'], ['c'], ['missing', 'd', 'c']]);
});

test('no batch tells what was true before it was asked, at most two are under way, and one that fails leaves the next alone', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('ask', 'write', 'end', 'fail', 'pause'), { maxLength: 40 }),
      async (steps) => {
        const underWay: ((fails: boolean) => void)[] = [];
        let value = 0;
        const batched = new BatchedRead((keys: readonly string[]) => {
          const seen = value;
          return new Promise<Map<string, number>>((resolve, reject) =>
            underWay.push((fails) =>
              fails ? reject(new Error('away')) : resolve(new Map(keys.map((key) => [key, seen]))),
            ),
          );
        });
        const answers: Promise<boolean>[] = [];
        for (const [index, step] of steps.entries()) {
          const asked = value;
          if (step === 'ask')
            answers.push(
              batched.ask(`key-${index % 3}`).then(
                (told) => told! >= asked,
                () => true,
              ),
            );
          if (step === 'write') value++;
          if (step === 'end' || step === 'fail') underWay.shift()?.(step === 'fail');
          if (step === 'pause') await settled();
          expect(underWay.length).toBeLessThanOrEqual(2);
        }
        let open = answers.length;
        for (const answer of answers) void answer.then(() => open--);
        while (open > 0) {
          underWay.shift()?.(false);
          await settled();
        }
        expect(await Promise.all(answers)).not.toContain(false);
      },
    ),
  ));
