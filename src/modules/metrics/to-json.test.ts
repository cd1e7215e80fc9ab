import { expect, test } from 'vitest';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { toMetrics } from './metrics.service.js';

const read = async (make: (registry: Registry) => void) => {
  const registry = new Registry();
  make(registry);
  return toMetrics((await registry.getMetricsAsJSON()) as unknown as Parameters<typeof toMetrics>[0]);
};

test('a gauge has a value, a counter a count; labels are part of the name', async () => {
  const metrics = await read((registry) => {
    new Gauge({ name: 'pending', help: 'p', registers: [registry] }).set(4);
    const calls = new Counter({
      name: 'calls_total',
      help: 'c',
      labelNames: ['route', 'status'],
      registers: [registry],
    });
    calls.inc({ route: '/a', status: '200' }, 2);
    calls.inc({ route: '/a', status: '404' });
  });
  expect(metrics).toEqual({
    pending: { value: 4 },
    'calls_total{route=/a,status=200}': { count: 2 },
    'calls_total{route=/a,status=404}': { count: 1 },
  });
});

test('times have their number, sum, mean and percentiles between the bounds of buckets', async () => {
  const metrics = await read((registry) => {
    const times = new Histogram({
      name: 't',
      help: 't',
      labelNames: ['route'],
      buckets: [1, 2, 4],
      registers: [registry],
    });
    for (let n = 0; n < 100; n++) times.observe({ route: '/a' }, n < 50 ? 0.5 : n < 98 ? 1.5 : 9);
  });
  expect(Object.keys(metrics)).toEqual(['t{route=/a}']);
  const { p50, p95, p99, ...rest } = metrics['t{route=/a}']!;
  expect(rest).toEqual({ count: 100, sum: 115, mean: 1.15 });
  expect(p50).toBe(1);
  expect(p95).toBeCloseTo(1 + 45 / 48);
  // Beyond the last bound it is unknown: the bound is told.
  expect(p99).toBe(4);
});

test('times of which there were none yet are zero', async () => {
  const metrics = await read((registry) => {
    new Histogram({ name: 't', help: 't', buckets: [1], registers: [registry] });
  });
  expect(metrics).toEqual({ t: { count: 0, sum: 0, mean: 0, p50: 0, p95: 0, p99: 0 } });
});
