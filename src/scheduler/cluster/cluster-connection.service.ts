import { Inject, Injectable } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver, type Epoch } from '../../cluster/cluster-driver.js';
import { Database } from '../../platform/database/database.js';
import { AgentCursorRepository } from '../status/agent-cursor.repository.js';
import { ClusterWatch } from './cluster-watch.service.js';

/** The leader's connection to the cluster: each agent goes on where its updates were stored last. */
@Injectable()
export class ClusterConnection {
  constructor(
    private readonly db: Database,
    private readonly cursors: AgentCursorRepository,
    private readonly watch: ClusterWatch,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  start(epoch: Epoch): Promise<void> {
    return this.driver.start(epoch, this.watch, (agentId) => this.cursors.find(this.db.pool, agentId));
  }

  stop(): Promise<void> {
    return this.driver.stop();
  }
}
