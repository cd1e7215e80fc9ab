import { Injectable } from '@nestjs/common';
import type { AgentMetrics } from '../../cluster/cluster-driver.js';
import { Metrics } from '../../platform/metrics/metrics.js';

/** The newest metrics that agents reported, for the metrics of the instance that leads. */
@Injectable()
export class FiguresOfAgents {
  private agents: readonly AgentMetrics[] = [];

  constructor(metrics: Metrics) {
    const disk = 'Disk on which the sandboxes of an agent lie: used, and all of it';
    metrics.gauge('muster_agent_disk_bytes', disk, ['agent', 'what'], (gauge) => {
      gauge.reset();
      for (const { agentId: agent, sandboxDiskUsedBytes, sandboxDiskTotalBytes } of this.agents) {
        gauge.set({ agent, what: 'used' }, sandboxDiskUsedBytes);
        gauge.set({ agent, what: 'total' }, sandboxDiskTotalBytes);
      }
    });
    const removed = 'Sandboxes, app folders and rotated files that an agent has removed since it began, by reason';
    metrics.counter('muster_agent_removed_total', removed, ['agent', 'reason'], (counter) => {
      for (const { agentId: agent, removed: all } of this.agents)
        for (const { reason, count } of all) counter.inc({ agent, reason }, count);
    });
    metrics.counter('muster_agent_freed_bytes_total', 'What they took on the disk', ['agent', 'reason'], (counter) => {
      for (const { agentId: agent, removed: all } of this.agents)
        for (const { reason, bytes } of all) counter.inc({ agent, reason }, bytes);
    });
    const failures = 'How often an agent could not remove something, since it began';
    metrics.counter('muster_agent_removal_failures_total', failures, ['agent'], (counter) => {
      for (const { agentId: agent, failures: count } of this.agents) counter.inc({ agent }, count);
    });
    const uploads = 'Uploads of logs of ended tasks that wait at an agent';
    metrics.gauge('muster_agent_uploads_waiting', uploads, ['agent'], (gauge) => {
      gauge.reset();
      for (const { agentId: agent, uploads: of } of this.agents) if (of) gauge.set({ agent }, of.waiting);
    });
    const oldest = 'How long the oldest of them waits';
    metrics.gauge('muster_agent_oldest_upload_seconds', oldest, ['agent'], (gauge) => {
      gauge.reset();
      for (const { agentId: agent, uploads: of } of this.agents) if (of) gauge.set({ agent }, of.oldestSeconds);
    });
    metrics.counter(
      'muster_agent_uploaded_total',
      'Files that an agent has uploaded since it began',
      ['agent'],
      (counter) => {
        for (const { agentId: agent, uploads: of } of this.agents) if (of) counter.inc({ agent }, of.files);
      },
    );
    metrics.counter('muster_agent_uploaded_bytes_total', 'Their bytes', ['agent'], (counter) => {
      for (const { agentId: agent, uploads: of } of this.agents) if (of) counter.inc({ agent }, of.bytes);
    });
    const notUploaded = 'Uploads of an agent that failed and are tried again, since it began';
    metrics.counter('muster_agent_upload_failures_total', notUploaded, ['agent'], (counter) => {
      for (const { agentId: agent, uploads: of } of this.agents) if (of) counter.inc({ agent }, of.failures);
    });
    const kept = 'Bytes of logs that an agent keeps where there is no object store';
    metrics.gauge('muster_agent_kept_log_bytes', kept, ['agent'], (gauge) => {
      gauge.reset();
      for (const { agentId: agent, uploads: of } of this.agents) if (of) gauge.set({ agent }, of.keptBytes);
    });
    const forgotten = 'Logs that an agent has removed there, for their age or for want of room, since it began';
    metrics.counter('muster_agent_kept_logs_removed_total', forgotten, ['agent'], (counter) => {
      for (const { agentId: agent, uploads: of } of this.agents) if (of) counter.inc({ agent }, of.removedFiles);
    });
    const last = 'When an agent last looked for what is to be removed, in seconds since 1970';
    metrics.gauge('muster_agent_cleanup_time_seconds', last, ['agent'], (gauge) => {
      gauge.reset();
      for (const { agentId: agent, lastCleanupAt } of this.agents)
        if (lastCleanupAt !== undefined) gauge.set({ agent }, lastCleanupAt / 1000);
    });
  }

  /** Several slaves may be of one agent: the last of them counts. Agents that were not asked, or did not tell, are forgotten. */
  replace(told: readonly (AgentMetrics | undefined)[]): void {
    const byId = new Map(told.flatMap((agent) => (agent ? [[agent.agentId, agent] as const] : [])));
    this.agents = [...byId.values()];
  }
}
