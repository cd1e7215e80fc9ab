import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';

/** The served document must not require what decorators let be absent: else no client could leave it out. */
test('no field that callers may leave out is required', () => {
  const src = fileURLToPath(new URL('../../src/', import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.dto.ts'));
  const wrong = files.flatMap((file) => {
    const members = readFileSync(src + file, 'utf8').split(/;\n/);
    return members
      .map((text) => ({ text, name: /\n {2}(\w+): [^\n]*$/.exec(text)?.[1] }))
      .filter(({ text, name }) => name && text.includes('@IsOptional()'))
      .map(({ name }) => `${file}: ${name}`);
  });
  expect(files.length).toBeGreaterThan(30);
  // These are required: rules say so, in better words than a decorator.
  const byRules = ['id', 'requestType'].map((name) => `modules/requests/dto/request.dto.ts: ${name}`);
  expect(wrong).toEqual(byRules);
});

test('the document that the client is made of is the one that is served', async () => {
  const installation = new Installation({ database: createDatabase });
  try {
    const { api } = await installation.start();
    const file = new URL('../../packages/client/dist/openapi.json', import.meta.url);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(await api.document());
  } finally {
    await installation.dispose();
  }
}, 120_000);
