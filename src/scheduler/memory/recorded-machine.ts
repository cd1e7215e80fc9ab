import type { MachineView } from '../../core/placement/index.js';
import type { StoredSlave } from '../../modules/slaves/slave.repository.js';

/** A machine as its record describes it, without what our tasks take from it. */
export function recordedMachine(slave: StoredSlave): Omit<MachineView, 'used' | 'usedPorts'> {
  const { resources } = slave;
  return {
    slaveId: slave.id,
    hostname: slave.host,
    rackId: slave.rackId,
    incarnation: slave.incarnation,
    attributes: slave.attributes,
    state: slave.currentState.state,
    rackState: slave.rackState,
    ...(slave.hostIsInactive && { hostIsInactive: true }),
    cpus: resources?.cpus ?? 0,
    memoryMb: resources?.mem ?? 0,
    diskMb: resources?.disk ?? 0,
    portRanges: portRanges(resources?.ports),
    ...(resources?.extended && { extended: resources.extended }),
    ...(resources?.maxTasks !== undefined && { maxTasks: resources.maxTasks }),
  };
}

/** Parses the text in which a slave's record has them: [31000-31999, 32005-32005]. */
const portRanges = (text = ''): { begin: number; end: number }[] =>
  [...text.matchAll(/(\d+)-(\d+)/g)].map(([, begin, end]) => ({ begin: Number(begin), end: Number(end) }));
