import { Inject, Injectable } from '@nestjs/common';
import { deployKeyText } from '../../core/model/deploy.js';
import type {
  DeployToPlace,
  MachineView,
  PlacementRules,
  PlacementSnapshot,
  RejectionReason,
  RequestView,
} from '../../core/placement/index.js';
import { plansAhead } from '../../core/schedules/index.js';
import { countRetries } from '../../core/working-set/index.js';
import type { StoredSlave } from '../../modules/slaves/slave.repository.js';
import { Rows } from '../../rows.js';
import type { SlaveUse } from '../../modules/tasks/machine-task.repository.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { recordedMachine } from '../memory/recorded-machine.js';
import { UsageMetricsLoader } from '../memory/usage-metrics.service.js';
import { WorkingSetLoader } from '../memory/working-set-loader.service.js';
import { type LoadedRequest } from '../memory/loaded-request.js';
import { StartOrder } from '../placement/start-order.service.js';
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

export interface PlacementScene {
  snapshot: PlacementSnapshot;
  rules: PlacementRules;
}

export interface ExplainData extends PlacementScene {
  loaded: LoadedRequest;
  /** Explanations of the leader that rows do not give, by pending task id. */
  found: ReadonlyMap<string, NotedExplanation>;
}

/** Reads what placing the tasks of requests would look at, on any instance: from rows, and from what the leader noted. */
@Injectable()
export class ExplainLoader {
  constructor(
    private readonly db: Database,
    private readonly loader: WorkingSetLoader,
    private readonly rows: Rows,
    private readonly switches: PlacementSwitches,
    private readonly usage: UsageMetricsLoader,
    private readonly reasons: WaitingReasonRepository,
    private readonly startOrder: StartOrder,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async load(requestId: string): Promise<ExplainData> {
    const [{ loaded, ...scene }, found] = await Promise.all([
      this.scene([requestId]),
      this.reasons.noted(this.db.pool, requestId, ['CANNOT_BE_STORED', 'NOT_ADMITTED'], knownToLeader),
    ]);
    const { request } = loaded[0]!;
    const startWaits = await this.startOrder.waits(this.db.pool, request ? [request.request] : []);
    return { ...scene, rules: { ...scene.rules, startWaits }, loaded: loaded[0]!, found };
  }

  /**
   * Requests and all machines; `asIf` puts another state of a machine in place of the present one. `within`: a snapshot, for readers who
   * need that all agrees with what they have read.
   */
  async scene(
    requestIds: readonly string[],
    asIf: (slave: StoredSlave) => StoredSlave = (slave) => slave,
    within?: Transaction,
  ): Promise<PlacementScene & { loaded: LoadedRequest[] }> {
    const tx = within ?? this.db.pool;
    const [loaded, present, uses, switched, { usages, utilizations }] = await Promise.all([
      this.loader.load(requestIds, within),
      this.rows.slaves.list(tx),
      this.rows.machineTasks.usedOfSlaves(tx),
      this.switches.now(within),
      this.usage.load(tx),
    ]);
    const slaves = present.map(asIf);
    const requests = new Map<string, RequestView>();
    const deploys = new Map<string, DeployToPlace>();
    for (const { id: requestId, request, tasks, givenUp, pendingTasks } of loaded) {
      if (!request) continue;
      const waitingRetries = plansAhead(request.request) ? countRetries(pendingTasks) : undefined;
      const utilization = utilizations.get(requestId);
      const counted = { tasks, givenUp, pendingTasks: pendingTasks.length, waitingRetries, utilization };
      requests.set(requestId, { ...request, ...counted });
      for (const [deployId, view] of request.deploys) deploys.set(deployKeyText({ requestId, deployId }), view);
    }
    const machines = slaves.map((slave) => ({
      ...machineView(slave, uses.get(slave.id)),
      usage: usages.get(slave.id),
    }));
    const named = [...requests.values()].flatMap(({ request }) => request.concurrencyGroup?.name ?? []);
    const groups = await this.rows.concurrencyGroups.use(tx, [...new Set(named)]);
    const snapshot: PlacementSnapshot = {
      due: [],
      requests,
      deploys,
      machines,
      takenTaskIds: new Set<string>(),
      groups,
    };
    return { loaded, snapshot, rules: { ...placementRules(this.settings, slaves), ...switched } };
  }
}

const machineView = (slave: StoredSlave, use: SlaveUse | undefined): MachineView => ({
  ...recordedMachine(slave),
  used: {
    cpus: use?.cpus ?? 0,
    memoryMb: use?.memoryMb ?? 0,
    diskMb: use?.diskMb ?? 0,
    ...(use?.extended && { extended: use.extended }),
    tasks: use?.tasks ?? 0,
  },
  usedPorts: use?.ports ?? [],
});
