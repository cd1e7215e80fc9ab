import { expect, test } from 'vitest';
import { otherName } from './other-names.js';

test.each([
  ['args', 'uris', 'here it is arguments, of the deploy'],
  ['cpus', 'customExecutorResources.cpus', 'here it is resources.cpus, of the deploy'],
  ['cpus', 'resources.cpus', undefined],
  ['cpu', 'cpus', undefined],
  ['timeZone', 'scheduleTimeZone', undefined],
  ['timeZone', undefined, 'here it is scheduleTimeZone, of the request'],
  ['time_zone', undefined, 'here it is scheduleTimeZone, of the request'],
  ['canarySettings', undefined, 'here it is canaryDeploySettings, of the deploy'],
  ['replicas', undefined, 'here it is instances, of the request'],
  ['backoffLimit', undefined, 'here it is numRetriesOnFailure, of the request'],
  ['concurrencyPolicy', 'concurrencyGroup', 'here it is overlapPolicy, of the request: SKIP where others say Forbid'],
  ['prohibit_overlap', undefined, expect.stringContaining('overlapPolicy') as string],
  ['startingDeadlineSeconds', undefined, 'here it is missedRuns.withinMillis, of the request'],
  ['dependsOn', undefined, 'here it is after, of the request'],
  ['command', undefined, 'it belongs to the deploy'],
  ['resources', undefined, 'it belongs to the deploy'],
  ['instances', undefined, 'it belongs to the request'],
  ['schedule', 'schedules', 'it belongs to the request'],
  ['constructor', undefined, undefined],
  ['nothing', undefined, undefined],
])('%s, where %s is near: %s', (name, near, hint) => expect(otherName(name, near)).toEqual(hint));
