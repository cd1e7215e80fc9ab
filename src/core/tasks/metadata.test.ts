import { type MetadataLimits, refuseMetadata } from './metadata.js';
import { expect, test } from 'vitest';

const limits: MetadataLimits = {
  allowedMetadataTypes: [],
  maxMetadataTypeLength: 30,
  maxMetadataTitleLength: 10,
  maxMetadataMessageLength: 20,
};

test.each<{ name: string; note?: object; own?: Partial<MetadataLimits>; errors: string[] }>([
  { name: 'any type, where no types are configured', errors: [] },
  { name: 'a configured type', own: { allowedMetadataTypes: ['a', 'deploy'] }, errors: [] },
  { name: 'a type that is not configured', own: { allowedMetadataTypes: ['a'] }, errors: ['type oneOf'] },
  { name: 'a type with a slash', note: { type: 'a/b' }, errors: ['type pattern'] },
  { name: 'no type', note: { type: '' }, errors: ['type length'] },
  { name: 'a type at its limit', note: { type: 'x'.repeat(30) }, errors: [] },
  { name: 'a type beyond its limit', note: { type: 'x'.repeat(31) }, errors: ['type length'] },
  { name: 'a title below its limit', note: { title: 'x'.repeat(9) }, errors: [] },
  { name: 'a title at its limit', note: { title: 'x'.repeat(10) }, errors: ['title length'] },
  { name: 'a message below its limit', note: { message: 'x'.repeat(19) }, errors: [] },
  { name: 'a message at its limit', note: { message: 'x'.repeat(20) }, errors: ['message length'] },
  { name: 'two faults', note: { type: '/', message: 'x'.repeat(20) }, errors: ['type pattern', 'message length'] },
])('$name: $errors', ({ note, own, errors }) => {
  const found = refuseMetadata({ type: 'deploy', title: 't', ...note }, { ...limits, ...own });
  expect(found.map(({ field, rule }) => `${field} ${rule}`)).toEqual(errors);
  for (const { field, message } of found) expect(message).toContain(field);
});
