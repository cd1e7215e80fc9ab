import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromJson, type FromJson, VersionedCache } from './versioned-cache.js';

/** Loads what the key and the version are, and notes what it was given. */
const loading = () => {
  const loaded: (string | undefined)[] = [];
  const get = (cache: VersionedCache<string>, key: string, version: string): Promise<string> =>
    cache.get(key, version, async (former) => {
      loaded.push(former);
      return `${key}${version}`;
    });
  return { loaded, get };
};

describe('a value', () => {
  test('is loaded again for another version, with what was kept of the one before', async () => {
    const { loaded, get } = loading();
    const cache = new VersionedCache<string>(10);
    for (const version of ['1', '1', '2', '2']) expect(await get(cache, 'a', version)).toBe(`a${version}`);
    expect(loaded).toEqual([undefined, 'a1']);
  });

  test('of a load that failed is not kept, and the one before is', async () => {
    const { loaded, get } = loading();
    const cache = new VersionedCache<string>(10);
    await get(cache, 'a', '1');
    await expect(cache.get('a', '2', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    await get(cache, 'a', '1');
    await get(cache, 'a', '2');
    expect(loaded).toEqual([undefined, 'a1']);
  });

  test('larger than the cache is loaded each time, and puts no other out', async () => {
    const cache = new VersionedCache<string>(4, ({ length }) => length);
    const get = async (key: string, value: string) => {
      let isLoaded = false;
      await cache.get(key, '1', async () => ((isLoaded = true), value));
      return isLoaded;
    };
    expect([await get('a', 'xx'), await get('b', 'xxxxx'), await get('b', 'xxxxx')]).toEqual([true, true, true]);
    expect(await get('a', 'xx')).toBe(false);
  });
});

test('of many those of another version are loaded together, and those that are not found are left out', async () => {
  const cache = new VersionedCache<string>(10);
  const asked: [string, string | undefined][][] = [];
  const many = (versions: Record<string, string>) =>
    cache.many(new Map(Object.entries(versions)), async (formers) => {
      asked.push([...formers]);
      return new Map([...formers.keys()].filter((key) => key !== 'gone').map((key) => [key, key + versions[key]!]));
    });
  expect(await many({ a: '1', b: '1', gone: '1' })).toEqual(
    new Map([
      ['a', 'a1'],
      ['b', 'b1'],
    ]),
  );
  expect([...(await many({ b: '2', a: '1' }))].sort()).toEqual([
    ['a', 'a1'],
    ['b', 'b2'],
  ]);
  await many({ a: '1', b: '2' });
  expect(asked).toEqual([
    [
      ['a', undefined],
      ['b', undefined],
      ['gone', undefined],
    ],
    [['b', 'b1']],
  ]);
});

test('whatever is asked for, a value is that of its version, and no more is kept than the cache may hold', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({ key: fc.constantFrom('a', 'b', 'c'), isNew: fc.boolean(), size: fc.integer({ min: 1, max: 5 }) }),
      ),
      async (looks) => {
        const most = 6;
        const cache = new VersionedCache<{ key: string; version: string; size: number }>(most, ({ size }) => size);
        const versions = new Map<string, number>();
        for (const { key, isNew, size } of looks) {
          versions.set(key, (versions.get(key) ?? 0) + Number(isNew));
          const version = String(versions.get(key));
          const value = await cache.get(key, version, async () => ({ key, version, size }));
          expect(value).toMatchObject({ key, version });
          let kept = 0;
          for (const one of ['a', 'b', 'c']) {
            // A load that fails leaves the cache as it is.
            const known = cache.get(one, String(versions.get(one) ?? 0), () => Promise.reject(new Error('none')));
            kept += await known.then(
              (there) => there.size,
              () => 0,
            );
          }
          expect(kept).toBeLessThanOrEqual(most);
          expect(kept).toBeGreaterThanOrEqual(value.size);
        }
      },
    ),
  ));

test('the same text is the very same value, and another one cannot be changed', () => {
  const first = fromJson<string[]>('["a"]', undefined);
  expect(fromJson(['["a"', ']'].join(''), first)).toBe(first);
  const second: FromJson<string[]> = fromJson('["b"]', first);
  expect(second.value).toEqual(['b']);
  expect(() => second.value.push('c')).toThrow(TypeError);
});
