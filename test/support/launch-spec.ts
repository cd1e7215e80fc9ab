import type { LaunchSpec } from '../../src/core/model/launch.js';

/** A launch that a test completes with what matters to it. */
export const launchSpec = (changes: Partial<LaunchSpec> = {}): LaunchSpec => ({
  taskId: 'request-deploy-1-1-host-rack',
  slaveId: 's1',
  incarnation: '',
  requestId: 'request',
  command: { shell: true, value: 'sleep 600', arguments: [] },
  environment: {},
  cpus: 0.1,
  memoryMb: 64,
  diskMb: 0,
  ports: [],
  artifacts: [],
  successfulExitCodes: [],
  killGraceMillis: 1_000,
  ...changes,
});
