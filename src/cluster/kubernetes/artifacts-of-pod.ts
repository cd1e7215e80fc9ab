import {
  artifactFailure,
  type ArtifactFailure,
  artifactsSaid,
  type PodArtifactList,
} from '../../pod-agent/pod-agent-api.js';
import { hasArtifacts } from '../../agent/artifacts/remotes.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { literal } from './container-values.js';
import { millisOf, type Pod } from './objects.js';

/*
 * The files that a task gets before it begins are fetched by the agent of its node, whose cache no task reaches. Its pod is there at
 * once all the same, so that it can be seen and killed: its first container waits for what the agent says.
 */

const containerName = 'artifacts';
const mountPath = '/mnt/cluster/artifacts';
/** A user without any rights on the node. */
const nobody = 65_534;

const waiting = `trap 'exit 143' TERM
until [ -e ${artifactsSaid.ready} ]; do
  if [ -e ${artifactsSaid.failed} ]; then
    cat ${artifactsSaid.failed} >/dev/termination-log
    exit 1
  fi
  sleep 0.2 || sleep 1
done`;

/** undefined: the task gets no files. */
export function artifactsOf({ requestId, artifacts, executorData }: LaunchSpec): PodArtifactList | undefined {
  const { embeddedArtifacts, externalArtifacts, objstoreArtifacts, objstoreArtifactSignatures } = executorData ?? {};
  const ofExecutor = { embeddedArtifacts, externalArtifacts, objstoreArtifacts, objstoreArtifactSignatures };
  // Fields that it needs were looked for when it was deployed, and the agent looks again.
  return hasArtifacts({ artifacts, executorData })
    ? ({ requestId, uris: artifacts, ...ofExecutor } as PodArtifactList)
    : undefined;
}

/** The pod with the container that waits, before all others. `directory`: of the node, in which its agent says that the files are there. */
export function withArtifacts(pod: Pod, { image }: Pick<KubernetesSettings, 'image'>, directory: string): Pod {
  const { volumes = [], initContainers = [], containers: [main] = [] } = pod.spec ?? {};
  const { memory } = main?.resources?.limits ?? {};
  const container = {
    name: containerName,
    image,
    imagePullPolicy: 'IfNotPresent',
    command: ['/bin/sh', '-c', waiting].map(literal),
    workingDir: mountPath,
    resources: { requests: { cpu: '0', memory: '0' }, limits: { ...(memory !== undefined && { memory }) } },
    securityContext: {
      runAsNonRoot: true,
      runAsUser: nobody,
      runAsGroup: nobody,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    terminationMessagePolicy: 'File',
    volumeMounts: [{ name: containerName, mountPath, readOnly: true }],
  };
  return {
    ...pod,
    spec: {
      ...pod.spec,
      volumes: [...volumes, { name: containerName, hostPath: { path: directory, type: 'Directory' } }],
      initContainers: [container, ...initContainers],
    },
  };
}

const statusOf = ({ status }: Pod) => status?.initContainerStatuses?.find(({ name }) => name === containerName);

/** How the task ends because it did not get its files; undefined: it got them, or none. */
export function failureOfArtifacts(pod: Pod): ArtifactFailure | undefined {
  const { exitCode = 0, message = '' } = statusOf(pod)?.state?.terminated ?? {};
  if (exitCode === 0) return undefined;
  return (
    failureIn(message) ?? {
      state: 'TASK_LOST',
      message: `Its files did not come: ${message || `exit code ${exitCode}`}`,
    }
  );
}

function failureIn(message: string): ArtifactFailure | undefined {
  try {
    return artifactFailure.safeParse(JSON.parse(message)).data;
  } catch {
    return undefined;
  }
}

/** Since when a pod waits for its files, epoch millis; undefined: it does not. */
export const awaitsArtifactsSince = (pod: Pod): number | undefined =>
  millisOf(statusOf(pod)?.state?.running?.startedAt);
