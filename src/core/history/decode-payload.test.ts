import fc from 'fast-check';
import { compress } from 'snappyjs';
import { expect, test } from 'vitest';
import { decodePayload, type PayloadKind } from './index.js';

const bytes = (value: unknown): Uint8Array =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const empty = { kind: 'unreadable', reason: 'It is empty' };
const notJson = { kind: 'unreadable', reason: 'It is neither JSON nor compressed JSON' };

test.each<{ name: string; kind?: PayloadKind; payload: Uint8Array; expected: unknown }>([
  { name: 'JSON text', payload: bytes({ task: 1 }), expected: { kind: 'read', document: { task: 1 } } },
  { name: 'compressed JSON', payload: compress(bytes({ task: 1 })), expected: { kind: 'read', document: { task: 1 } } },
  { name: 'nothing', payload: new Uint8Array(), expected: empty },
  { name: 'text that is not JSON', payload: bytes('task'), expected: notJson },
  { name: 'JSON that is no object', payload: bytes([{ task: 1 }]), expected: notJson },
  { name: 'JSON that was cut off', payload: compress(bytes({ task: 1 })).slice(0, -3), expected: notJson },
  { name: 'text that is not UTF-8', payload: Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d), expected: notJson },
  { name: 'a length of gigabytes', payload: Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f, 0), expected: notJson },
  { name: 'a literal whose length leads back to its beginning', payload: Uint8Array.of(5, 0xfc, 0xfa, 0xff, 0xff, 0xff), expected: notJson },
  { name: 'a task without its record', payload: bytes({ id: 'web' }), expected: { kind: 'unreadable', reason: "It has no member 'task'" } },
  { name: 'a request', kind: 'REQUEST', payload: bytes({ id: 'web' }), expected: { kind: 'read', document: { id: 'web' } } },
  { name: 'a deploy without its marker', kind: 'DEPLOY', payload: bytes({}), expected: { kind: 'unreadable', reason: "It has no member 'deployMarker'" } },
])('$name', ({ kind = 'TASK', payload, expected }) => expect(decodePayload(kind, payload)).toEqual(expected)); // prettier-ignore

test('a compressed payload is read whatever byte it begins with, that of a brace included', () => {
  // The first byte is the length of what was compressed.
  const plain = bytes({ task: 'x'.repeat('{'.charCodeAt(0) - 11) });
  expect(compress(plain)[0]).toBe('{'.charCodeAt(0));
  expect(decodePayload('TASK', compress(plain))).toMatchObject({ kind: 'read' });
});

test('any object reads back, compressed or not', () =>
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
      const document = JSON.parse(JSON.stringify({ ...members, task: {} })) as unknown;
      expect(decodePayload('TASK', bytes(document))).toEqual({ kind: 'read', document });
      expect(decodePayload('TASK', compress(bytes(document)))).toEqual({ kind: 'read', document });
    }),
  ));

test('literals of all sizes of lengths read back', () => {
  for (const length of [1, 59, 60, 61, 255, 256, 257, 65_535, 65_536, 65_537, 300_000]) {
    let [text, seed] = ['', length];
    for (; text.length < length; seed = (seed * 48_271) % 2_147_483_647) text += seed.toString(36);
    expect(decodePayload('TASK', compress(bytes({ task: text })))).toMatchObject({
      kind: 'read',
      document: { task: text },
    });
  }
});

test('no bytes at all make it fail', () =>
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (any) => void decodePayload('TASK', any))));
