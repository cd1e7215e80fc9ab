import type { Express } from 'express';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpointNeeds } from '../../src/modules/auth/access/endpoint-needs.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';

let running: TestApp<ClusterDriver>;
beforeAll(async () => {
  running = await startTestApp();
});
afterAll(() => running.close());

interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
}

/** Every operation below /api that the application serves, such as `GET /api/state`. */
export function operationsOf(app: NestExpressApplication): string[] {
  const { stack } = (app.getHttpAdapter().getInstance() as Express).router as unknown as { stack: Layer[] };
  return stack.flatMap(({ route }) =>
    route?.path.startsWith('/api/')
      ? Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${route.path}`)
      : [],
  );
}

test('every endpoint declares what it needs of its caller', () => {
  const operations = operationsOf(running.app);
  expect(operations.length).toBeGreaterThan(150);
  expect(operations.filter((operation) => !Object.hasOwn(endpointNeeds, operation))).toEqual([]);
});
