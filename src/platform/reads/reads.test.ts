import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BatchedRead, KeptDocuments, KeptList, KeptLists, KeptRecords, SharedRead, SharedReads } from './reads.js';

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

test('a list is read again when the moment is another one, and is the very same one as long as its text is', async () => {
  const kept = new KeptList<string>();
  /** The database: a moment, and what stands there. */
  const read = (moment: string, json: string) =>
    kept.read((since) => Promise.resolve({ moment, json: since === moment ? null : json }));
  const first = await read('1', '["a","b"]');
  expect(first).toEqual(['a', 'b']);
  expect(await read('1', 'not read')).toBe(first);
  expect(await read('2', ['["a",', '"b"]'].join(''))).toBe(first);
  expect(await read('2', 'not read')).toBe(first);
  expect(await read('3', '["a"]')).toEqual(['a']);
  expect(await read('4', '["a","b"]')).toEqual(first);
});

test('of two reads of a list at a time each tells what stood there at its own moment', async () => {
  const kept = new KeptList<string>();
  let end = (): void => undefined;
  await kept.read(() => Promise.resolve({ moment: '1', json: '["a"]' }));
  const slow = kept.read((since) => new Promise((resolve) => (end = () => resolve({ moment: since!, json: null }))));
  const quick = await kept.read(() => Promise.resolve({ moment: '2', json: '["a","b"]' }));
  end();
  expect([await slow, quick]).toEqual([['a'], ['a', 'b']]);
  expect(
    await kept.read((since) => Promise.resolve({ moment: '2', json: since === '2' ? null : '["a","b"]' })),
  ).toEqual(quick);
});

test('lists are made again when the moment is another one, and at most so many members are kept', async () => {
  const kept = new KeptLists<string>(3);
  let made = 0;
  const read = (key: string, moment: string, length: number) =>
    kept.read(key, moment, async () => {
      made++;
      return Array.from({ length }, () => moment);
    });
  const first = await read('a', '1', 2);
  expect(await read('a', '1', 2)).toBe(first);
  expect(await read('a', '2', 2)).toEqual(['2', '2']);
  expect(await read('b', '2', 1)).toEqual(['2']);
  expect(await read('a', '2', 2)).toEqual(['2', '2']);
  expect(made).toBe(3);
  await read('c', '2', 1);
  await read('a', '2', 2);
  expect(made).toBe(5);
  await read('d', '2', 4);
  await read('d', '2', 4);
  expect(made).toBe(7);
});

describe('kept records', () => {
  const loaded: string[][] = [];
  const load = async (keys: readonly string[]) => {
    loaded.push([...keys]);
    return new Map(keys.filter((key) => key !== 'gone').map((key) => [key, { key }]));
  };

  test('are read once, in the order of the keys, and forgotten when they are not asked for', async () => {
    const records = new KeptRecords<{ key: string }>(10);
    const [b, a] = await records.list(['b', 'a', 'gone'], load);
    expect([b, a]).toEqual([{ key: 'b' }, { key: 'a' }]);
    expect(await records.list(['a', 'c'], load)).toEqual([{ key: 'a' }, { key: 'c' }]);
    expect((await records.list(['a', 'b'], load))[0]).toBe(a);
    expect(loaded.splice(0)).toEqual([['b', 'a', 'gone'], ['c'], ['b']]);
  });

  test('are the very same list as long as nothing comes or goes, and all were found', async () => {
    const records = new KeptRecords<{ key: string }>(2);
    const list = (...keys: string[]) => records.list(keys, load);
    const both = await list('a', 'b');
    expect(await list('a', 'b')).toBe(both);
    expect(await list('b', 'a')).toEqual([{ key: 'b' }, { key: 'a' }]);
    const found = await list('a', 'gone');
    expect(await list('a', 'gone')).not.toBe(found);
    const beyond = await list('a', 'b', 'c');
    expect(await list('a', 'b', 'c')).not.toBe(beyond);
    loaded.splice(0);
  });

  test('beyond the greatest number are read each time', async () => {
    const records = new KeptRecords<{ key: string }>(1);
    for (let time = 0; time < 2; time++) {
      expect(await records.list(['a', 'b'], load)).toEqual([{ key: 'a' }, { key: 'b' }]);
    }
    expect(loaded.splice(0)).toEqual([['a', 'b'], ['b']]);
  });
});

test('documents are the very same as long as their moment or their text is, and at most so many characters are kept', async () => {
  const kept = new KeptDocuments<string[]>(700, (json) => JSON.parse(json) as string[]);
  const read = async (moment: string, stored: Record<string, string>) => {
    const sent: string[] = [];
    const found = await kept.find(Object.keys(stored), (asked) => {
      const answers = asked.map(({ id, since }) => ({ id, moment, json: since === moment ? null : stored[id]! }));
      for (const { id, json } of answers) if (json !== null) sent.push(id);
      return Promise.resolve(answers);
    });
    return { found, sent };
  };
  const first = await read('1', { a: '["a"]', b: '["b"]' });
  expect(first.found).toEqual(
    new Map([
      ['a', ['a']],
      ['b', ['b']],
    ]),
  );
  const second = await read('1', { a: '["a"]', b: '["b"]' });
  expect(second.sent).toEqual([]);
  const third = await read('2', { a: '["a"]', b: '["c"]' });
  expect(third.sent).toEqual(['a', 'b']);
  expect(third.found.get('a')).toBe(first.found.get('a'));
  expect(third.found.get('b')).toEqual(['c']);
  expect((await read('2', { a: '["a"]', d: '["too long"]' })).found.get('d')).toEqual(['too long']);
  expect((await read('2', { a: '["a"]' })).sent).toEqual(['a']);
});
