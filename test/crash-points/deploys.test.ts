import { afterAll, beforeAll, expect, test } from 'vitest';
import { startReceiver, type HttpReceiver } from '../support/http-receiver.js';
import { LentDatabase } from '../support/lent-database.js';
import { deploys, judgedAt } from './deploys.js';
import { killAtEveryPoint } from './scenario.js';

let judge: HttpReceiver;
let database: LentDatabase;
beforeAll(async () => {
  database = await LentDatabase.create();
  judge = await startReceiver();
  judge.answer = (_call, response) => response.end('300');
  judgedAt(judge.url);
});
afterAll(async () => {
  await judge.close();
  await database.close();
});

test.each(deploys)('$name ends the same wherever the scheduler is killed', { timeout: 600_000 }, async (scenario) => {
  expect(await killAtEveryPoint(scenario, database)).toBeGreaterThan(0);
});
