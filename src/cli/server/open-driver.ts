import { Logger } from '@nestjs/common';
import { messageOf } from '../../platform/files.js';
import type { ClusterDriver } from '../../cluster/cluster-driver.js';
import { LocalDriver } from '../../cluster/local/local-driver.js';
import { StartError } from '../../platform/errors.js';
import type { Settings } from '../../platform/settings/settings.js';

/** The client library of Kubernetes is loaded only where it is used. */
export async function openDriver(
  { cluster, clusterDriver }: Settings,
  { agentFolder, now }: { agentFolder: string; now: () => number },
): Promise<ClusterDriver> {
  const log = driverLog();
  if (clusterDriver === 'kubernetes') {
    const { KubernetesDriver } = await import('../../cluster/kubernetes/kubernetes-driver.js');
    const { kubernetes, defaultRackId, local: commands } = cluster;
    return KubernetesDriver.open({ settings: kubernetes, defaultRackId, commands, log, now }).catch(
      (cause: unknown) => {
        throw new StartError(`Kubernetes cannot be reached: ${messageOf(cause)}`, { cause });
      },
    );
  }
  const { allowedArtifactPaths, artifactStore, containers } = cluster.local;
  const hasArtifactStore = artifactStore !== undefined;
  return new LocalDriver({ now, agentDirectory: agentFolder, log, allowedArtifactPaths, hasArtifactStore, containers });
}

function driverLog() {
  const log = new Logger('Cluster');
  return {
    info: (message: string) => log.log(message),
    warn: (message: string) => log.warn(message),
    error: (message: string, cause?: unknown) => log.error(message, cause),
  };
}
