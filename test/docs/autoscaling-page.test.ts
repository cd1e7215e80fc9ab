import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { autoscaleText } from '../../src/core/autoscale/index.js';
import { autoscaleMetrics, autoscaleOutcomes } from '../../src/core/model/autoscale.js';
import type { Request } from '../../src/core/model/request.js';
import { validateRequest } from '../../src/core/request-validation/index.js';
import { SettingsFile } from '../../src/platform/settings/settings.js';
import { scalesWithin, simulateWeek, spikeOnTuesday, weekSpec, weekTable } from '../support/autoscale-week.js';

const page = readFileSync(new URL('../../docs/autoscaling.md', import.meta.url), 'utf8');
const words = page.replaceAll(/\s+/g, ' ');
const requests = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => parse(text!) as Request);
const settings = SettingsFile.parse({ prometheus: { uri: 'http://prometheus.internal:9090' } });

test('the requests of docs/autoscaling.md are accepted', () => {
  const limits = { ...settings.cluster, ...settings };
  expect(requests.flatMap((request) => validateRequest(request, { limits }))).toEqual([]);
  expect(requests).toHaveLength(2);
});

test('its sentence is the one of explain', () => {
  const state = { at: 0, outcome: 'STEADY', instances: 4, value: 58, needed: 4 } as const;
  expect(page).toContain(autoscaleText(requests[0]!.autoscale!, state, 4, undefined));
});

test('it names every metric and outcome', () => {
  for (const metric of autoscaleMetrics) expect(page).toContain(`\`${metric}\``);
  for (const outcome of autoscaleOutcomes) expect(page).toContain(`\`${outcome}\``);
});

test('its week is the one that the decisions make', () => {
  const week = simulateWeek();
  console.log(weekTable(week).join('\n'));
  const rows = page.split('\n').filter((line) => /^\| \w+day /.test(line));
  expect(rows.map((row) => row.replaceAll(/ +/g, ' '))).toEqual(weekTable(week));
  expect(words).toContain(scalesWithin(week, spikeOnTuesday, 3_600_000).join(', '));
  expect(week.deaths).toBe(33);
});

test('within the week nothing leaves the bounds, no step is too large, and nothing shrinks within the delay', () => {
  const { scales } = simulateWeek();
  for (const [index, { at, from, to }] of scales.entries()) {
    expect(to).toBeGreaterThanOrEqual(weekSpec.min);
    expect(to).toBeLessThanOrEqual(weekSpec.max);
    expect(Math.abs(to - from)).toBeLessThanOrEqual(weekSpec.stepLimit!);
    const before = scales[index - 1];
    if (before && to < from) expect(at - before.at).toBeGreaterThanOrEqual(300_000);
  }
});
