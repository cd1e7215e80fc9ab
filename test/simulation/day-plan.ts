import type { SimulatedCluster } from '../support/simulated-cluster/simulated-cluster.js';
import type { StormRates } from '../support/simulated-cluster/storm.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';

export interface DayOptions {
  hours: number;
  requests: number;
  machines: number;
  seed: number;
}

const minute = 60_000;

/** Rates of all misfortunes in an hour of a cluster of this size; everything else follows from these. */
export const stormOf = ({ machines }: DayOptions): StormRates => ({
  unreachable: machines / 25,
  slow: machines / 50,
  newFolder: machines / 100,
  vanished: machines / 50,
  taskEnds: machines / 10,
});

/** Orders of people in an hour. */
export const ordersPerHour = ({ requests }: DayOptions) => ({
  deploy: requests / 20,
  scale: requests / 40,
  bounce: requests / 100,
  pause: requests / 100,
  run: requests / 10,
  kill: requests / 40,
});
export type Errand = keyof ReturnType<typeof ordersPerHour>;

/** Number of times in an hour that the scheduler dies, or is overtaken. */
export const restartsPerHour = 1;

export function addMachines(cluster: SimulatedCluster, count: number): void {
  for (let number = 1; number <= count; number++) {
    cluster.addMachine({
      slaveId: `slave-${number}`,
      hostname: `host-${number}`,
      rackId: `rack-${number % 10}`,
      attributes: { zone: number % 2 === 0 ? 'east' : 'west' },
      cpus: 16,
      memoryMb: 65_536,
    });
  }
}

const schedules = ['0 */10 * * * ?', '30 5/15 * * * ?', '0 0/30 * * * ?', '15 20 * * * ?', '0 0 */6 * * ?'];

/** The request with this number: services, workers, cron jobs, on-demand and run-once jobs in fixed shares. */
export function requestOf(number: number): Request {
  const id = `request-${number}`;
  const share = number % 20;
  const instances = 1 + (number % 4);
  if (share < 7) return { id, requestType: 'SERVICE', instances, ...(share < 2 && { slavePlacement: 'SEPARATE' }) };
  if (share < 9) return { id, requestType: 'WORKER', instances, requiredSlaveAttributes: { zone: 'east' } };
  if (share < 16) {
    return {
      id,
      requestType: 'SCHEDULED',
      quartzSchedule: schedules[number % schedules.length],
      numRetriesOnFailure: 1,
    };
  }
  return { id, requestType: share < 19 ? 'ON_DEMAND' : 'RUN_ONCE' };
}

export const deployOf = (requestId: string, id: string): Deploy => ({
  requestId,
  id,
  command: 'work',
  resources: { cpus: 0.2, memoryMb: 128, diskMb: 0, numPorts: id.length % 3 },
});

/** Running time of a job, in milliseconds; one in twenty fails. */
export function jobScript(random: () => number): { runFor: number; exit: 'TASK_FINISHED' | 'TASK_FAILED' } {
  return { runFor: 5_000 + random() * 15 * minute, exit: random() < 0.05 ? 'TASK_FAILED' : 'TASK_FINISHED' };
}
