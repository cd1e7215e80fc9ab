import type { HealthcheckOptions } from '../../../core/model/deploy.js';
import type { LiveTask } from '../live-tasks.service.js';
import type { ProbeTarget } from './http-probe.js';

export type HealthcheckTarget = Omit<ProbeTarget, 'timeoutMillis' | 'maxBodyBytes'>;

/** Where a task is asked, or why it cannot be. */
export function healthcheckTarget(
  task: Pick<LiveTask, 'host' | 'ports'>,
  options: HealthcheckOptions,
  /** The local driver runs everything on this machine, whatever its slaves are called. */
  isLocal: boolean,
): HealthcheckTarget | { errorMessage: string } {
  if (!options.uri) return { errorMessage: 'The health check names no uri' };
  const port = options.portNumber ?? task.ports[options.portIndex ?? 0];
  if (port === undefined || port < 1) return { errorMessage: `The task has no port ${options.portIndex ?? 0}` };
  return {
    host: isLocal ? 'localhost' : task.host,
    port,
    uri: options.uri,
    protocol: options.protocol ?? 'HTTP',
    method: options.method ?? 'GET',
  };
}
