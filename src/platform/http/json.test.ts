import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { neverChanges, toJson, withoutNulls, writtenOf } from './json.js';

test('members that are null are left out, wherever they stand; nulls of lists and in texts stay', () =>
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(toJson({ value })).toBe(JSON.stringify({ value }, withoutNulls));
    }),
  ));

describe('a record that never changes', () => {
  test('is written as any other', () =>
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue())), (records) => {
        const list = neverChanges(records.map((record) => neverChanges({ ...record })));
        expect(toJson(list)).toBe(JSON.stringify(records, withoutNulls));
        expect(toJson(list)).toBe(JSON.stringify(records, withoutNulls));
      }),
    ));

  test('is written once, alone or in any list', () => {
    let written = 0;
    const record = neverChanges({
      toJSON: () => {
        written++;
        return { id: 'a' };
      },
    });
    expect([toJson([record]), toJson(record), toJson([record, record])]).toEqual([
      '[{"id":"a"}]',
      '{"id":"a"}',
      '[{"id":"a"},{"id":"a"}]',
    ]);
    expect(written).toBe(1);
  });

  test('is written once as a member of others, too, which are written as ever', () =>
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (kept, others) => {
          const plain = { ...others, kept, none: undefined, nothing: null };
          const answer = { ...plain, kept: neverChanges({ ...kept }) };
          expect(toJson(answer)).toBe(JSON.stringify(plain, withoutNulls));
          expect(toJson(answer)).toBe(JSON.stringify(plain, withoutNulls));
        },
      ),
    ));

  test('cannot be changed, and a copy of it is another record', () => {
    const record = neverChanges({ id: 'a' });
    expect(() => (record.id = 'b')).toThrow(TypeError);
    expect([writtenOf(record), writtenOf({ ...record })]).toEqual([{}, undefined]);
    expect(toJson({ ...record, id: 'b' })).toBe('{"id":"b"}');
  });
});
