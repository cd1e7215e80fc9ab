import { describe, expect, test } from 'vitest';
import { maskCredentials, PinoLogger } from './log.js';

test.each([
  ['Authorization: Token 6e0ca33d-dc4e-40b5-aeec-03778834fa35', 'Authorization: ***'],
  ['{"headers":{"authorization":"Bearer abc","host":"x"}}', '{"headers":{"authorization":"***","host":"x"}}'],
  ['{"msg":"{\\"cookie\\":\\"session=1; other=2\\"}"}', '{"msg":"{\\"cookie\\":\\"***\\"}"}'],
  ['{"bindPassword":"x","name":"y"}', '{"bindPassword":"***","name":"y"}'],
  ['{"token":"x"}', '{"token":"***"}'],
  ['GET /a?access_token=abc&b=1', 'GET /a?access_token=***&b=1'],
  ['postgres://muster:secret@host:5432/db', 'postgres://muster:***@host:5432/db'],
  ['sent Bearer abcdefgh12345678 on', 'sent Bearer *** on'],
  ['it was eyJhbGciOi.eyJzdWIi.c2ln', 'it was ***'],
])('%s is logged as %s', (line, masked) => expect(maskCredentials(line)).toBe(masked));

test.each([
  'Token creation is limited',
  'header Authorization has no scheme',
  'the cookie session is missing',
  'http://127.0.0.1:7099/api',
  '{"msg":"Migrated","context":"Database"}',
])('%s stays as it is', (line) => expect(maskCredentials(line)).toBe(line));

describe('what the log writes', () => {
  const lines: string[] = [];
  const destination = { write: (text: string) => void lines.push(text) };

  test.each(['json', 'pretty'] as const)('as %s has no credentials, also not those of a cause', (format) => {
    lines.length = 0;
    const logger = new PinoLogger({ level: 'info', format, destination });
    const cause = Object.assign(new Error('refused Token 6e0ca33d-dc4e-40b5-aeec'), {
      headers: { Authorization: 'Token swordfish', Cookie: 'session=swordfish' },
    });
    logger.error('Authorization: Bearer swordfish', new Error('failed', { cause }), 'Test');
    logger.log({ request: { headers: { authorization: 'Token swordfish' } } }, 'Test');
    expect(lines.join('')).not.toMatch(/swordfish|6e0ca33d/);
    for (const line of format === 'json' ? lines : []) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });
});
