import { Inject, Injectable } from '@nestjs/common';
import { deployKeyText } from '../../core/model/deploy.js';
import type { MachineView, PlacementRules, PlacementSnapshot, RejectionReason } from '../../core/placement/index.js';
import type { StoredSlave } from '../../modules/slaves/slave.repository.js';
import { Rows } from '../../rows.js';
import type { SlaveUse } from '../../modules/tasks/machine-task.repository.js';
import { Database } from '../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { recordedMachine } from '../memory/recorded-machine.js';
import { UsageMetricsLoader } from '../memory/usage-metrics.service.js';
import { WorkingSetLoader } from '../memory/working-set-loader.service.js';
import { type LoadedRequest } from '../memory/loaded-request.js';
import { PlacementSwitches } from '../placement/placement-switches.service.js';
import { placementRules } from '../rules.js';
import { type NotedExplanation, WaitingReasonRepository } from './waiting-reason.repository.js';

/** Reasons against machines that the leader alone knows, and no row holds. */
const knownToLeader: readonly RejectionReason[] = [
  'SLAVE_RETURNING',
  'SLAVE_CLOSED',
  'SLAVE_DISK_FULL',
  'SLAVE_WITHOUT_CONTAINERS',
];

export interface ExplainData {
  loaded: LoadedRequest;
  snapshot: PlacementSnapshot;
  rules: PlacementRules;
  /** Explanations of the leader that rows do not give, by pending task id. */
  found: ReadonlyMap<string, NotedExplanation>;
}

/** Reads what placing the tasks of one request would look at, on any instance: from rows, and from what the leader noted. */
@Injectable()
export class ExplainLoader {
  constructor(
    private readonly db: Database,
    private readonly loader: WorkingSetLoader,
    private readonly rows: Rows,
    private readonly switches: PlacementSwitches,
    private readonly usage: UsageMetricsLoader,
    private readonly reasons: WaitingReasonRepository,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async load(requestId: string): Promise<ExplainData> {
    const tx = this.db.pool;
    const [[loaded], slaves, uses, switched, { usages, utilizations }, found] = await Promise.all([
      this.loader.load([requestId]),
      this.rows.slaves.list(tx),
      this.rows.machineTasks.usedOfSlaves(tx),
      this.switches.now(),
      this.usage.load(),
      this.reasons.noted(tx, requestId, ['CANNOT_BE_STORED'], knownToLeader),
    ]);
    const { request, tasks, pendingTasks } = loaded!;
    const group = request?.request.concurrencyGroup?.name;
    const groups = await this.rows.concurrencyGroups.use(tx, group === undefined ? [] : [group]);
    const counted = { tasks, pendingTasks: pendingTasks.length, utilization: utilizations.get(requestId) };
    const snapshot: PlacementSnapshot = {
      due: [],
      requests: new Map(request && [[requestId, { ...request, ...counted }]]),
      deploys: new Map(
        [...(request?.deploys ?? [])].map(([deployId, view]) => [deployKeyText({ requestId, deployId }), view]),
      ),
      machines: slaves.map((slave) => ({ ...machineView(slave, uses.get(slave.id)), usage: usages.get(slave.id) })),
      takenTaskIds: new Set(),
      groups,
    };
    return { loaded: loaded!, snapshot, found, rules: { ...placementRules(this.settings, slaves), ...switched } };
  }
}

const machineView = (slave: StoredSlave, use: SlaveUse | undefined): MachineView => ({
  ...recordedMachine(slave),
  used: { cpus: use?.cpus ?? 0, memoryMb: use?.memoryMb ?? 0, diskMb: use?.diskMb ?? 0 },
  usedPorts: use?.ports ?? [],
});
