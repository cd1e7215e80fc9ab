import { expect, test } from 'vitest';
import type { Volume } from '../../core/model/deploy.js';
import type { ClusterObjectKind } from '../../core/model/enums.js';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { refusedObjects } from './cluster-objects.js';
import { refusalOfLaunch, unsupportedOnKubernetes } from './supported.js';

const settings = KubernetesSettings.parse({
  allowedObjects: [
    { kind: 'SECRET', name: 'shared' },
    { kind: 'SECRET', name: 'web-*', groups: ['web', 'ops'] },
    { kind: 'PERSISTENT_VOLUME_CLAIM', name: 'data-*' },
  ],
});
const volume = (type: ClusterObjectKind, name: string): Volume => ({ containerPath: '/x', source: { type, name } });
const secret = (name: string) => ({ name: 'A', secret: name, key: 'k' });

test.each([
  { name: 'a secret for all', secretEnv: [secret('shared')], is: [] },
  { name: 'one that no setting names', secretEnv: [secret('shared'), secret('other')], is: ['secretEnv[1].secret'] },
  { name: 'one of its group', secretEnv: [secret('web-db')], group: 'web', is: [] },
  { name: 'one of another group', secretEnv: [secret('web-db')], group: 'jobs', is: ['secretEnv[0].secret'] },
  { name: 'one of a group, without a group', secretEnv: [secret('web-db')], is: ['secretEnv[0].secret'] },
  { name: 'a volume of a secret', volumes: [volume('SECRET', 'shared')], is: [] },
  {
    name: 'a config map by the name of a secret',
    volumes: [volume('CONFIG_MAP', 'shared')],
    is: ['containerInfo.volumes[0].source.name'],
  },
  { name: 'a claim of each instance', volumes: [volume('PERSISTENT_VOLUME_CLAIM', 'data-%i')], is: [] },
  {
    name: 'another claim',
    volumes: [volume('PERSISTENT_VOLUME_CLAIM', 'logs')],
    is: ['containerInfo.volumes[0].source.name'],
  },
  { name: 'a folder of the node, which another rule looks at', volumes: [{ hostPath: '/etc' }], is: [] },
])('$name: $is', ({ volumes, secretEnv, group, is }) =>
  expect(refusedObjects({ volumes, secretEnv, group }, settings).map(({ field }) => field)).toEqual(is),
);

test('without the setting there is none, in a deploy and in a launch', () => {
  const none = KubernetesSettings.parse({});
  const deploy = { requestId: 'r', id: 'd', command: 'x', secretEnv: [secret('shared')] };
  expect(unsupportedOnKubernetes(deploy, none)).toEqual([
    {
      field: 'secretEnv[0].secret',
      message: 'must be one that the setting cluster.kubernetes.allowedObjects allows, as SECRET',
    },
  ]);
  const launch = launchSpec({ secretEnvironment: [secret('web-db')], group: 'web' });
  expect(refusalOfLaunch(launch, none)).toMatch(/^secretEnv\[0\]\.secret must be one that the setting/);
  expect(refusalOfLaunch(launch, settings)).toBeUndefined();
  expect(refusalOfLaunch({ ...launch, group: 'jobs' }, settings)).toBeDefined();
});
