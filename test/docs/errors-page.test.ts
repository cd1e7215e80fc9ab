import { expect, test } from 'vitest';
import { errorCodes } from '../../src/platform/error-codes.js';

/** The page is written anew by `npx vitest run test/docs/errors-page.test.ts -u`. */
test('docs/errors.md has each code with its status, its usual cause and the next step', async () => {
  const rows = Object.entries(errorCodes)
    .toSorted(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, cause, next }]) => `- ${status} \`${code}\`: ${cause} Next: ${next}`);
  const page = `# Error codes

For authors of clients: every error code, with its usual cause and the next step.

Every refusal is JSON: \`{status, code, message, errors, requestId}\`. \`code\` keeps its meaning from version to version;
\`message\` is for people and may change. Statuses 408, 429, 502 and 503 are temporary: repeat the call, and use an \`Idempotency-Key\` for a
change ([repeating-calls.md](repeating-calls.md)). With the setting \`compatibility\`, some statuses are those that older clients expect
([deviations.md](deviations.md)).

${rows.join('\n')}
`;
  await expect(page).toMatchFileSnapshot('../../docs/errors.md');
});
