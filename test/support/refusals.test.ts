import { expect, test } from 'vitest';

const paused = {
  status: 409,
  body: { code: 'REQUEST_PAUSED', message: "Request 'a' is paused", errors: [{ field: 'id', rule: 'state' }] },
};

test('a refusal matches by status, code and the details that are demanded', () => {
  expect(paused).toRefuse(409, 'REQUEST_PAUSED');
  expect(paused).toRefuse(409, 'REQUEST_PAUSED', { field: 'id', rule: 'state' });
  expect(paused).toRefuse(409, 'REQUEST_PAUSED', { message: expect.stringContaining('paused') });
  expect(paused).not.toRefuse(404, 'REQUEST_PAUSED');
  expect(paused).not.toRefuse(409, 'REQUEST_PAUSED', { field: 'instances' });
  expect({ status: 200, body: { id: 'a' } }).not.toRefuse(409, 'REQUEST_PAUSED');
});

test('a mismatch prints the whole answer that came', () => {
  expect(() => expect(paused).toRefuse(404, 'REQUEST_NOT_FOUND', { field: 'id' })).toThrow(
    `expected a refusal with 404 REQUEST_NOT_FOUND {"field":"id"}, got 409 ${JSON.stringify(paused.body)}`,
  );
  expect(() => expect({ status: 204 }).toRefuse(404, 'REQUEST_NOT_FOUND')).toThrow('got 204 undefined');
  expect(() => expect(paused).not.toRefuse(409, 'REQUEST_PAUSED')).toThrow(
    'expected no refusal with 409 REQUEST_PAUSED',
  );
});
