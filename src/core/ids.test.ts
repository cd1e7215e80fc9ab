import { expect, test } from 'vitest';
import { isReservedName } from './ids.js';

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', '-', '--', '--help', '-x', '_', '__'])(
  '%s is no id',
  (name) => expect(isReservedName(name)).toBe(true),
);

test.each(['web', '0', 'a-b', 'web-', '_web', 'prototype', 'Constructor', 'proto', 'größe', '...', ''])(
  '%s may be one',
  (name) => expect(isReservedName(name)).toBe(false),
);
