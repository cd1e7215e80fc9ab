import { mkdirSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { mailTypes } from '../../src/core/mail/index.js';
import { emailTypes, type EmailType } from '../../src/core/model/enums.js';
import { SettingsFile } from '../../src/platform/settings/settings.js';
import { AgentCluster, testSlave } from '../support/agent-cluster.js';
import { startMailServer, type MailServer, type ReceivedMail } from '../support/mail-server.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import { waitFor } from '../support/wait-for.js';

export const owner = 'Owner@example.com';
export const admin = 'admin@example.com';
export const ann = 'ann@example.com';
/** Address that links lead to. */
export const base = 'https://muster.example/ui';
/** Types of mail that have no destination by default: they go to the owners. */
const emails = Object.fromEntries(
  emailTypes.filter((type) => mailTypes[type].destinations.length === 0).map((type) => [type, ['OWNERS']]),
);

const settingsOf = (port: number) =>
  SettingsFile.parse({
    smtp: {
      host: '127.0.0.1',
      port,
      from: 'muster@example.com',
      admins: [admin],
      uiBaseUrl: `${base}/`,
      subjectPrefix: '[east]',
      taskEmailTailFiles: ['stdout', 'stderr', '$TASK_ID/service.log'],
      rateLimitAfterNotifications: 0,
      emails,
    },
    checkQueuedMailsEveryMillis: 500,
    checkJobsEveryMillis: 500,
    warnIfScheduledJobIsRunningForAtLeastMillis: 100,
    considerTaskHealthyAfterRunningForSeconds: 1,
    cleanupEverySeconds: 1,
    newTaskCheckerBaseDelaySeconds: 0,
    checkNewTasksEverySeconds: 1,
    killAfterTasksDoNotRunDefaultSeconds: 60,
    killTaskIfNotHealthyAfterSeconds: 3,
    deltaAfterWhichTasksAreLateMillis: 2_000,
    crashLoop: { cooldownFailureThreshold: 2 },
    disasterDetection: {
      runEveryMillis: 500,
      fewestLateTasks: 1,
      criticalOverdueTaskPortion: 0.01,
      triggerAfterMillisOverTaskLagThreshold: 0,
    },
    allowTestResourceCalls: true,
  });

export interface TaskOf {
  taskId: { id: string };
  lastTaskState: string;
}

/** The whole service, a real agent with two slaves and a real mail server: what happens is caused by calls and by tasks. */
export class MailWorld {
  private constructor(
    readonly server: MailServer,
    readonly cluster: AgentCluster,
    private readonly app: TestApp<never>,
  ) {}
  private other: TestApp<never> | undefined;

  static async start(): Promise<MailWorld> {
    const server = await startMailServer();
    const cluster = await AgentCluster.start({ slaves: [testSlave, { ...testSlave, id: 's2', ports: '20000-29999' }] });
    await cluster.driver.stop();
    const driver = cluster.newDriver() as never;
    return new MailWorld(server, cluster, await startTestApp({ driver, settings: settingsOf(server.port) }));
  }

  /** One more instance, to which the leadership may go. */
  async startFollower(): Promise<void> {
    const { databaseUrl } = this.app;
    const driver = this.cluster.newDriver() as never;
    this.other = await startTestApp({ driver, settings: settingsOf(this.server.port), databaseUrl, follows: true });
  }

  async close(): Promise<void> {
    await this.other?.close();
    await this.app.close();
    await this.cluster.close();
    await this.server.close();
  }

  async call<Body = unknown>(method: string, path: string, body?: unknown): Promise<Body> {
    const response = await fetch(`${this.app.url}/api/${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (response.status > 299) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Body;
  }

  /** A request and a deploy of it that runs a shell script. */
  async deployed(
    request: Record<string, unknown>,
    script: string,
    deploy: Record<string, unknown> = {},
  ): Promise<void> {
    await this.call('POST', 'requests', { owners: [owner], ...request });
    const command = { command: '/bin/sh', arguments: ['-c', script] };
    const resources = { cpus: 0.1, memoryMb: 32 };
    await this.call('POST', 'deploys', {
      deploy: { requestId: request['id'], id: 'd1', ...command, resources, ...deploy },
    });
  }

  run = (id: string, body: object = {}): Promise<unknown> =>
    this.call('POST', `requests/request/${id}/run?user=${ann}`, body);

  activeTasks = (id: string): Promise<TaskOf[]> => this.call('GET', `history/request/${id}/tasks/active`);

  /** The id of one that runs. */
  runningTask = (id: string): Promise<string> =>
    waitFor(
      `a running task of ${id}`,
      async () => {
        const tasks = await this.activeTasks(id);
        return tasks.find((task) => task.lastTaskState === 'TASK_RUNNING')?.taskId.id;
      },
      { timeoutMillis: 20_000 },
    );

  /** Resolves when its deploy is the active one. */
  deployEnded = (id: string): Promise<boolean> =>
    waitFor(
      `the deploy of ${id}`,
      async () =>
        (await this.call<{ activeDeploy?: object }>('GET', `requests/request/${id}`)).activeDeploy !== undefined,
      { timeoutMillis: 20_000 },
    );

  /** A file in the sandbox of a task. */
  put(taskId: string, file: string): void {
    writeFileSync(`${this.cluster.root}/sandboxes/${taskId}/${file}`, '');
  }

  async slaveOf(taskId: string): Promise<string> {
    const { pool } = this.app.database;
    const found = await pool.query<{ slave_id: string }[]>('SELECT slave_id FROM task WHERE task_id = $1', [taskId]);
    return found[0]!.slave_id;
  }

  async hasEnded(taskId: string): Promise<boolean> {
    const { pool } = this.app.database;
    const found = await pool.query<unknown[]>('SELECT 1 FROM task WHERE task_id = $1 AND ended_at IS NULL', [taskId]);
    return found.length === 0;
  }

  /** The first of a type in which this stands. MAIL_PICTURES names a folder where it is kept, to be looked at in a browser. */
  async mail(type: EmailType, about: string): Promise<ReceivedMail> {
    const isIt = (mail: ReceivedMail) => mail.type === type && `${mail.subject} ${mail.text}`.includes(about);
    const mail = await this.server.until(`${type} about ${about}`, isIt);
    const folder = process.env['MAIL_PICTURES'];
    if (folder) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/${type}.html`, mail.html as string);
    }
    expectUsual(mail);
    return mail;
  }

  /** Number of mails so far. */
  count = (type: EmailType, about = ''): number =>
    this.server.mails.filter((mail) => mail.type === type && `${mail.subject} ${mail.text}`.includes(about)).length;
}

export const toAndCc = ({ to_, cc_ }: ReceivedMail): { to: string[]; cc: string[] } => ({ to: to_, cc: cc_ });

/** Members that every mail has. */
const expectUsual = (mail: ReceivedMail): void => {
  expect(mail.from?.value).toMatchObject([{ address: 'muster@example.com' }]);
  expect(mail.subject).toMatch(/^\[east\] /);
  expect(mail.headers.get('auto-submitted')).toBe('auto-generated');
  expect(mail.messageId).toMatch(/^<muster\.\d+\.\d+@example\.com>$/);
  expect(mail.raw).toContain('text/html; charset=utf-8');
  expect(mail.html).toContain(`background:${mailTypes[mail.type as EmailType].colour}`);
  expect(mail.recipients).toEqual([...mail.to_, ...mail.cc_]);
};
