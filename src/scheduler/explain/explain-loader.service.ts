import { Inject, Injectable } from '@nestjs/common';
import type { MachineView, PlacementRules, PlacementSnapshot } from '../../core/placement/index.js';
import { Machines, type StoredSlave } from '../../modules/slaves/machines.service.js';
import { Database } from '../../platform/database/database.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { recordedMachine } from '../memory/recorded-machine.js';
import { UsageFiguresLoader } from '../memory/usage-figures.service.js';
import { WorkingSetLoader, type LoadedRequest } from '../memory/working-set-loader.service.js';
import { PlacementSwitches } from '../placement/placement-switches.service.js';
import { placementRules } from '../rules.js';

export interface ExplainData {
  loaded: LoadedRequest;
  snapshot: PlacementSnapshot;
  rules: PlacementRules;
}

interface MachineUse {
  slave_id: string;
  cpus: number;
  memory_mb: number;
  disk_mb: number;
  ports: number[];
}

/** Reads what placing the tasks of one request would look at, on any instance: from rows alone. */
@Injectable()
export class ExplainLoader {
  constructor(
    private readonly db: Database,
    private readonly loader: WorkingSetLoader,
    private readonly machines: Machines,
    private readonly switches: PlacementSwitches,
    private readonly usage: UsageFiguresLoader,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async load(requestId: string): Promise<ExplainData> {
    const tx = this.db.manager;
    const [[loaded], slaves, uses, switched, { usages, utilizations }] = await Promise.all([
      this.loader.load([requestId]),
      this.machines.list(tx),
      this.machineUses(),
      this.switches.now(),
      this.usage.load(),
    ]);
    const { request, tasks, pendingTasks } = loaded!;
    const useOf = new Map(uses.map((use) => [use.slave_id, use]));
    const counted = { tasks, pendingTasks: pendingTasks.length, utilization: utilizations.get(requestId) };
    const snapshot: PlacementSnapshot = {
      due: [],
      requests: new Map(request && [[requestId, { ...request, ...counted }]]),
      deploys: new Map([...(request?.deploys ?? [])].map(([deployId, view]) => [`${requestId}-${deployId}`, view])),
      machines: slaves.map((slave) => ({ ...machineView(slave, useOf.get(slave.id)), usage: usages.get(slave.id) })),
      takenTaskIds: new Set(),
    };
    return { loaded: loaded!, snapshot, rules: { ...placementRules(this.settings, slaves), ...switched } };
  }

  /** What active tasks take from each machine. */
  private machineUses(): Promise<MachineUse[]> {
    return rows<MachineUse>(
      this.db.manager,
      `SELECT slave_id, sum(cpus) AS cpus, sum(memory_mb) AS memory_mb, sum(disk_mb) AS disk_mb,
         (SELECT coalesce(array_agg(port), '{}') FROM task p, unnest(p.ports) AS port
          WHERE p.slave_id = task.slave_id AND p.ended_at IS NULL) AS ports
       FROM task WHERE ended_at IS NULL GROUP BY slave_id`,
    );
  }
}

const machineView = (slave: StoredSlave, use: MachineUse | undefined): MachineView => ({
  ...recordedMachine(slave),
  used: { cpus: use?.cpus ?? 0, memoryMb: use?.memory_mb ?? 0, diskMb: use?.disk_mb ?? 0 },
  usedPorts: use?.ports ?? [],
});
