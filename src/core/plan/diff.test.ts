import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diffFields, type FieldChange } from './index.js';

describe('what differs is told field by field', () => {
  test.each<{ name: string; from: unknown; to: unknown; changes: FieldChange[] }>([
    { name: 'nothing differs', from: { a: 1, b: { c: [2] } }, to: { b: { c: [2] }, a: 1 }, changes: [] },
    { name: 'a value', from: { a: 1 }, to: { a: 2 }, changes: [{ path: 'x.a', from: 1, to: 2 }] },
    {
      name: 'names in their order',
      from: { b: 1, a: 1 },
      to: { b: 2, a: 2 },
      changes: [
        { path: 'x.a', from: 1, to: 2 },
        { path: 'x.b', from: 1, to: 2 },
      ],
    },
    {
      name: 'what is new and what is gone',
      from: { env: { A: '1' } },
      to: { env: { B: '2' } },
      changes: [
        { path: 'x.env.A', from: '1' },
        { path: 'x.env.B', to: '2' },
      ],
    },
    {
      name: 'entries of lists by their place',
      from: { uris: [{ cmd: 'a' }] },
      to: { uris: [{ cmd: 'b' }, 'c'] },
      changes: [
        { path: 'x.uris[0].cmd', from: 'a', to: 'b' },
        { path: 'x.uris[1]', to: 'c' },
      ],
    },
    {
      name: 'names that are no words',
      from: {},
      to: { labels: { 'a.b/c': 'd' } },
      changes: [{ path: 'x.labels["a.b/c"]', to: 'd' }],
    },
    {
      name: 'names that every object answers to',
      from: {},
      to: { constructor: 'x' },
      changes: [{ path: 'x.constructor', to: 'x' }],
    },
    { name: 'an empty map', from: {}, to: { env: {} }, changes: [{ path: 'x.env', to: {} }] },
    { name: 'a map in place of a value', from: { a: 1 }, to: { a: {} }, changes: [{ path: 'x.a', from: 1, to: {} }] },
    { name: 'a member that is not set is none', from: { a: undefined }, to: {}, changes: [] },
    {
      name: 'all of a document, where there was none',
      from: undefined,
      to: { a: 1 },
      changes: [{ path: 'x.a', to: 1 }],
    },
  ])('$name', ({ from, to, changes }) => expect(diffFields(from, to, 'x')).toEqual(changes));
});

const anyJson = fc.jsonValue({ maxDepth: 3 });
const anyDocument = fc.dictionary(fc.string(), anyJson);

describe('whatever the documents', () => {
  test('none differs from itself, and others do', () => {
    fc.assert(
      fc.property(anyDocument, anyDocument, (a, b) => {
        expect(diffFields(a, structuredClone(a), 'x')).toEqual([]);
        const same = JSON.stringify(diffFields(a, b, 'x')) === '[]';
        if (same) expect(sorted(b)).toEqual(sorted(a));
      }),
    );
  });

  test('the way back tells the same fields with their sides changed', () => {
    fc.assert(
      fc.property(anyDocument, anyDocument, (a, b) => {
        const back = diffFields(b, a, 'x').map(({ path, ...sides }) => {
          const turned: FieldChange = { path };
          if ('to' in sides) turned.from = sides.to;
          if ('from' in sides) turned.to = sides.from;
          return turned;
        });
        expect(diffFields(a, b, 'x')).toEqual(back);
      }),
    );
  });

  test('each field is told once', () => {
    fc.assert(
      fc.property(anyDocument, anyDocument, (a, b) => {
        const paths = diffFields(a, b, 'x').map(({ path }) => path);
        expect(new Set(paths).size).toBe(paths.length);
      }),
    );
  });
});

/** Texts of numbers lose the sign of zero, as JSON does. */
const sorted = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
