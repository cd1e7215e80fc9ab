import { Injectable, Logger } from '@nestjs/common';
import type { Gauge } from 'prom-client';
import type { State } from '../../core/model/state.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import type { BackfillProgress } from '../history/backfill/history-backfill.repository.js';
import { HistoryBackfill } from '../history/backfill/history-backfill.service.js';
import { Rows } from '../../rows.js';
import { StateService } from '../state/state.service.js';

/** However often the figures are read, the database is not asked more often. */
const freshMillis = 5_000;

/** Metrics of the work of the whole service, out of the database: equal on every instance. */
@Injectable()
export class ClusterFigures {
  private readonly log = new Logger(ClusterFigures.name);
  private readonly single: readonly { gauge: Gauge; of: (state: State) => number }[];
  private readonly tasks: Gauge<'state'>;
  private readonly requests: Gauge<'state'>;
  private readonly slaves: Gauge<'state'>;
  private readonly webhooks: Gauge<'what'>;
  private readonly mails: Gauge<'what'>;
  private readonly oldestMail: Gauge;
  private readonly webhookAge: Gauge;
  private readonly receivers: Gauge<'state'>;
  private readonly eventsKept: Gauge;
  private readonly eventAge: Gauge;
  private readonly eventsWritten: Gauge;
  private readonly backfillRuns: Gauge;
  private readonly backfilled: Gauge<'what'>;
  private readonly available: Gauge;
  private reading: { since: number; done: Promise<void> } | undefined;

  constructor(
    metrics: Metrics,
    private readonly db: Database,
    private readonly state: StateService,
    private readonly rows: Rows,
    private readonly backfill: HistoryBackfill,
    private readonly clock: Clock,
  ) {
    const single = (name: string, help: string, of: (state: State) => number) => ({
      gauge: metrics.gauge(name, help),
      of,
    });
    this.single = [
      single('muster_pending_tasks', 'Tasks that wait for their time or for a machine', (s) => s.scheduledTasks),
      single('muster_pending_requests', 'Wishes that the scheduler has not looked at', (s) => s.pendingRequests),
      single('muster_late_tasks', 'Pending tasks that are late', (s) => s.lateTasks + s.onDemandLateTasks),
      single('muster_task_lag_seconds', 'By how much the latest of them is late', (s) => s.maxTaskLag / 1000),
      single('muster_cleaning_tasks', 'Tasks that have to go', (s) => s.cleaningTasks),
      single('muster_deploys', 'Deploys in progress', (s) => s.numDeploys),
      single('muster_oldest_deploy_seconds', 'Age of the oldest of them', (s) => s.oldestDeploy / 1000),
    ];
    this.tasks = metrics.gauge('muster_tasks', 'Live tasks by state', ['state']);
    this.requests = metrics.gauge('muster_requests', 'Requests by state', ['state']);
    this.slaves = metrics.gauge('muster_slaves', 'Slaves by state', ['state']);
    this.webhooks = metrics.gauge('muster_webhook_updates', 'Updates that wait for webhooks, or were given up', [
      'what',
    ]);
    this.webhookAge = metrics.gauge(
      'muster_webhook_oldest_update_seconds',
      'For how long the oldest of them has waited',
    );
    this.receivers = metrics.gauge('muster_webhooks', 'Webhooks by whether their last delivery was taken', ['state']);
    this.eventsKept = metrics.gauge('muster_events_kept', 'Events that clients of the stream can still ask for');
    this.eventAge = metrics.gauge('muster_event_oldest_seconds', 'Age of the oldest of them');
    this.eventsWritten = metrics.gauge('muster_events_written', 'Events there ever were');
    metrics.counter(
      'muster_webhook_updates_dropped_total',
      'Updates that this instance dropped because too many waited for their webhook',
      [],
      (counter) => counter.inc(this.rows.webhookOutbox.dropped),
    );
    this.mails = metrics.gauge('muster_mails', 'Mails that wait to be sent, or were given up', ['what']);
    this.oldestMail = metrics.gauge('muster_oldest_mail_seconds', 'Age of the oldest mail that waits');
    this.backfillRuns = metrics.gauge('muster_history_backfill_running', '1 while old history is converted');
    this.backfilled = metrics.gauge(
      'muster_history_backfill_rows',
      'Rows of old history that the newest conversion has dealt with, or could not read',
      ['what'],
    );
    this.available = metrics.gauge('muster_database_up', '1 while the database answers');
  }

  /** Call it before the figures are read. Never fails: without the database, its figures are left out. */
  async refresh(): Promise<void> {
    const now = this.clock.now();
    if (!this.reading || now - this.reading.since >= freshMillis) this.reading = { since: now, done: this.read() };
    await this.reading.done;
  }

  private async read(): Promise<void> {
    try {
      const state = await this.state.state();
      const { tasks, webhooks, events, mails } = await this.db.snapshot(async (tx) => ({
        tasks: await this.rows.tasks.activeCountsByState(tx),
        webhooks: await this.rows.webhookOutbox.counts(tx),
        events: await this.rows.liveEvents.counts(tx),
        mails: this.rows.mailOutbox.isOn ? await this.rows.mailQueue.counts(tx) : undefined,
      }));
      const backfill = await this.backfill.progress();
      this.forget();
      this.available.set(1);
      for (const { gauge, of } of this.single) gauge.set(of(state));
      for (const [name, count] of Object.entries(requestsByState(state))) this.requests.set({ state: name }, count);
      for (const [name, count] of Object.entries(slavesByState(state))) this.slaves.set({ state: name }, count);
      for (const task of tasks) this.tasks.set({ state: task.state }, task.count);
      this.webhooks.set({ what: 'queued' }, webhooks.queued);
      this.webhooks.set({ what: 'dead' }, webhooks.dead);
      if (mails) {
        this.mails.set({ what: 'waiting' }, mails.waiting);
        this.mails.set({ what: 'dead' }, mails.dead);
        this.oldestMail.set(this.ageOf(mails.oldestAt));
      }
      this.webhookAge.set(this.ageOf(webhooks.oldest));
      this.receivers.set({ state: 'working' }, webhooks.working);
      this.receivers.set({ state: 'failing' }, webhooks.failing);
      this.eventsKept.set(events.kept);
      this.eventAge.set(this.ageOf(events.since));
      this.eventsWritten.set(events.total);
      this.backfillRuns.set(backfill.running ? 1 : 0);
      for (const [what, count] of Object.entries(rowsOf(backfill))) this.backfilled.set({ what }, count);
    } catch (cause) {
      this.log.warn(`No metrics from the database: ${cause instanceof Error ? cause.message : String(cause)}`);
      this.forget();
      this.available.set(0);
    }
  }

  /** In seconds; 0: there is none. */
  private ageOf(since: number | undefined): number {
    return since === undefined ? 0 : Math.max(0, this.clock.now() - since) / 1_000;
  }

  private forget(): void {
    const labelled = [
      this.tasks,
      this.requests,
      this.slaves,
      this.webhooks,
      this.receivers,
      this.mails,
      this.backfilled,
    ];
    for (const gauge of labelled) gauge.reset();
    for (const { gauge } of this.single) gauge.remove();
    const ages = [this.webhookAge, this.eventAge, this.oldestMail];
    for (const gauge of [...ages, this.eventsKept, this.eventsWritten, this.backfillRuns]) gauge.remove();
  }
}

const requestsByState = (state: State): Record<string, number> => ({
  active: state.activeRequests,
  cooldown: state.cooldownRequests,
  paused: state.pausedRequests,
  finished: state.finishedRequests,
});

const slavesByState = (state: State): Record<string, number> => ({
  active: state.activeSlaves,
  decommissioning: state.decommissioningSlaves,
  dead: state.deadSlaves,
  unknown: state.unknownSlaves,
});

const rowsOf = (run: BackfillProgress): Record<string, number> => ({
  tasks: run.tasksConverted,
  requests: run.requestsConverted,
  deploys: run.deploysConverted,
  unreadable: run.unreadable,
});
