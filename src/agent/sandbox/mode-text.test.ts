import { expect, test } from 'vitest';
import { modeText } from './sandbox-files.js';

test.each([
  [0o100644, '-rw-r--r--'],
  [0o040755, 'drwxr-xr-x'],
  [0o120777, 'lrwxrwxrwx'],
  [0o104755, '-rwsr-xr-x'],
  [0o102644, '-rw-r-Sr--'],
  [0o041777, 'drwxrwxrwt'],
  [0o010600, 'prw-------'],
  [0o140000, 's---------'],
])('%o', (mode, text) => expect(modeText(mode)).toBe(text));
