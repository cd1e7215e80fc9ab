import { expect, test } from 'vitest';
import { breakDependency } from '../bench/health/dependency.js';
import { createDatabase } from '../support/test-database.js';

test('a dependency that breaks for all tasks of services takes down no more than each may replace at once', async () => {
  const services = await breakDependency({ database: createDatabase }, 30);
  expect(services.map(({ service }) => service)).toEqual(['ten', 'twenty', 'eager']);
  for (const service of services) {
    const { mostReplacedAtOnce, maxUnhealthyReplacements, instances } = service;
    const text = JSON.stringify(service);
    // As many as may be, and never more.
    expect(mostReplacedAtOnce, text).toBe(maxUnhealthyReplacements);
    expect(service, text).toMatchObject({ fewestOldTasks: instances, healthyInTheEnd: instances });
    expect(service.oldInTheEnd, text).toBeGreaterThanOrEqual(instances - maxUnhealthyReplacements);
  }
}, 400_000);
