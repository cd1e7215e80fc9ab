import { type Deploy, isClusterObject, type SecretVariable, type Volume } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import type { UnsupportedOption } from '../cluster-driver.js';

/* Objects of the cluster that a task names: claims, config maps, secrets, accounts. The kubelet reads them; Muster has no right to. */

interface NamedObjects {
  volumes?: readonly Volume[];
  secretEnv?: readonly SecretVariable[];
  serviceAccount?: string;
  /** Of the request; undefined: it has none. */
  group?: string;
}

type AllowedObjects = Pick<KubernetesSettings, 'allowedObjects'>;
type AllowedKind = KubernetesSettings['allowedObjects'][number]['kind'];

export const objectsOfDeploy = (
  { containerInfo, secretEnv, serviceAccount }: Deploy,
  group: string | undefined,
): NamedObjects => ({
  volumes: containerInfo?.volumes,
  secretEnv,
  serviceAccount,
  group,
});

/** Names that the settings do not allow to requests of this group. */
export function refusedObjects(named: NamedObjects, settings: AllowedObjects): UnsupportedOption[] {
  const { volumes = [], secretEnv = [], serviceAccount, group } = named;
  const refusal = (field: string, kind: AllowedKind, name: string): UnsupportedOption[] =>
    isAllowed(kind, name, group, settings)
      ? []
      : [{ field, message: `must be one that the setting cluster.kubernetes.allowedObjects allows, as ${kind}` }];
  return [
    ...volumes.flatMap(({ source }, index) =>
      isClusterObject(source)
        ? refusal(`containerInfo.volumes[${index}].source.name`, source.type, source.name ?? '')
        : [],
    ),
    ...secretEnv.flatMap(({ secret }, index) => refusal(`secretEnv[${index}].secret`, 'SECRET', secret)),
    ...(serviceAccount === undefined ? [] : refusal('serviceAccount', 'SERVICE_ACCOUNT', serviceAccount)),
  ];
}

function isAllowed(
  kind: AllowedKind,
  name: string,
  group: string | undefined,
  { allowedObjects }: AllowedObjects,
): boolean {
  // Before the launch: the number of the instance stands where %i does.
  const given = name.replaceAll('%i', '1');
  const matches = (allowed: string) =>
    allowed.endsWith('*') ? given.startsWith(allowed.slice(0, -1)) : given === allowed || name === allowed;
  return allowedObjects.some(
    (each) =>
      each.kind === kind &&
      matches(each.name) &&
      (each.groups === undefined || (group !== undefined && each.groups.includes(group))),
  );
}

/** Files of a secret are for the group of the pod alone; where that is not known, for everyone in the container. */
const secretMode = 0o440;

/** Volume of a pod; undefined: its source is no object of the cluster. `group`: of the pod's files. */
export function objectVolume({ source }: Volume, group: number | undefined): Record<string, unknown> | undefined {
  if (!isClusterObject(source)) return undefined;
  const { type, name } = source;
  switch (type) {
    case 'PERSISTENT_VOLUME_CLAIM':
      return { persistentVolumeClaim: { claimName: name } };
    case 'CONFIG_MAP':
      return { configMap: { name } };
    case 'SECRET':
      return { secret: { secretName: name, ...(group !== undefined && { defaultMode: secretMode }) } };
  }
}

/** Variables of a container whose values the kubelet reads. */
export const secretVariables = (variables: readonly SecretVariable[] = []) =>
  variables.map(({ name, secret, key }) => ({ name, valueFrom: { secretKeyRef: { name: secret, key } } }));

/** A token only comes with an account that the deploy names. */
export function accountOf(
  { serviceAccount }: Pick<LaunchSpec, 'serviceAccount'>,
  settings: Pick<KubernetesSettings, 'serviceAccount'>,
): Record<string, unknown> {
  const serviceAccountName = serviceAccount ?? settings.serviceAccount;
  return {
    automountServiceAccountToken: serviceAccount !== undefined,
    ...(serviceAccountName !== undefined && { serviceAccountName }),
  };
}
