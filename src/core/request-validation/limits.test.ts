import { expect, test } from 'vitest';
import { SettingsFile } from '../../platform/settings/settings.js';
import { validateDeploy } from '../deploy-validation/index.js';
import type { FieldError } from '../field-error.js';
import type { Deploy } from '../model/deploy.js';
import type { Request } from '../model/request.js';
import { runProblems } from '../requests/run-now.js';
import { refuseGroupId } from '../requests/check-index.js';
import { refuseMetadata } from '../tasks/metadata.js';
import { scaleDownProblem, validateRequest } from './index.js';

/* Each limit is a setting: what is fine by default breaks a lower one, and the message names the field and that limit. */

const request: Request = { id: 'some-request', requestType: 'SERVICE', instances: 4 };
const deploy: Deploy = {
  requestId: 'some-request',
  id: 'some_deploy',
  command: 'run',
  resources: { cpus: 2, memoryMb: 128, diskMb: 64, numPorts: 1 },
  healthcheck: { uri: '/', startupDelaySeconds: 50 },
};
const note = { type: 'some-type', title: 'some title', message: 'some message' };

type Lowered = Partial<Omit<SettingsFile, 'cluster'>> & { cluster?: Partial<SettingsFile['cluster']> };
const settingsWith = ({ cluster, ...rest }: Lowered): SettingsFile => {
  const defaults = SettingsFile.parse({});
  return { ...defaults, ...rest, cluster: { ...defaults.cluster, ...cluster } };
};

function everyProblem(settings: SettingsFile): FieldError[] {
  const limits = { ...settings, ...settings.cluster };
  const found = [
    ...validateRequest(request, { limits }),
    ...validateDeploy(deploy, { request, settings, now: 0 }),
    ...runProblems({ runId: 'some-run', runAt: 86_400_000 * 3 }, 0, limits),
    ...refuseMetadata(note, settings),
    refuseGroupId('some-group', settings),
    scaleDownProblem(request, { from: 4, to: 1, acknowledged: false }, settings.maxScaleDownWithoutAcknowledgement),
  ];
  return found.filter((problem) => problem !== undefined);
}

test('by default there is nothing wrong', () => expect(everyProblem(settingsWith({}))).toEqual([]));

test.each<[Lowered, string, string]>([
  [{ maxRequestIdSize: 9 }, 'id', '9'],
  [{ maxRecordBytes: 20 }, 'request', '20 bytes'],
  [{ maxRecordBytes: 20 }, 'deploy', '20 bytes'],
  [{ maxRecordBytes: 20 }, 'run', '20 bytes'],
  [{ cluster: { maxNumInstancesPerRequest: 3 } }, 'instances', '3'],
  [{ maxDeployIdSize: 7 }, 'deploy.id', '7'],
  [{ cluster: { maxNumCpusPerInstance: 1.5 } }, 'deploy.resources.cpus', '1.5'],
  [{ cluster: { maxMemoryMbPerInstance: 127 } }, 'deploy.resources.memoryMb', '127'],
  [{ cluster: { maxDiskMbPerInstance: 63 } }, 'deploy.resources.diskMb', '63'],
  [{ cluster: { maxNumCpusPerRequest: 7 } }, 'deploy.resources.cpus', '7'],
  [{ cluster: { maxMemoryMbPerRequest: 511 } }, 'deploy.resources.memoryMb', '511'],
  [{ cluster: { maxDiskMbPerRequest: 255 } }, 'deploy.resources.diskMb', '255'],
  [{ healthcheckMaxTotalTimeoutSeconds: 33 }, 'deploy.healthcheck', '33'],
  [{ killTaskIfNotHealthyAfterSeconds: 49 }, 'deploy.healthcheck.startupDelaySeconds', '49'],
  [{ maxRunIdSize: 6 }, 'runId', '6'],
  [{ maxRunNowTaskLaunchDelayDays: 2 }, 'runAt', '2'],
  [{ maxMetadataTypeLength: 8 }, 'type', '8'],
  [{ allowedMetadataTypes: ['another'] }, 'type', 'another'],
  [{ maxMetadataTitleLength: 10 }, 'title', '10'],
  [{ maxMetadataMessageLength: 12 }, 'message', '12'],
  [{ allowRequestsWithoutOwners: false }, 'owners', 'required'],
  [{ loadBalancerUri: undefined, maxScaleDownWithoutAcknowledgement: 2 }, 'instances', '3 tasks'],
])('%j is told of %s, with %s', (lowered, field, limit) => {
  const told = everyProblem(settingsWith(lowered)).filter((problem) => problem.field === field);
  expect(told.length).toBeGreaterThan(0);
  expect(told[0]?.message).toContain(field);
  expect(told[0]?.message).toContain(limit);
});
