import { migrate, summaries } from '../../../packages/migrate/src/commands.js';
import type { Define } from '../run.js';

interface Topic {
  topic: string;
  /** By the name of the command: what the list of commands says. */
  summaries: Record<string, string>;
  /** The module of these commands, loaded when one of them is called. */
  load: () => Promise<Record<string, Define>>;
}

/** Earlier names of commands still work. */
const earlierNames = new Map([['slaves', 'machines']]);
export const presentName = (name: string): string => earlierNames.get(name) ?? name;

/** Every command, in the order of the help. */
export const commands: readonly Topic[] = [
  {
    topic: 'Inspect:',
    summaries: {
      requests: 'list requests with their state and deploys',
      ps: 'list tasks that run or wait',
      explain: 'explain why tasks of a request wait',
      history: 'show past tasks, deploys and changes',
      events: 'show events as they happen',
    },
    load: async () => (await import('./look.js')).look,
  },
  {
    topic: 'Inspect:',
    summaries: { endpoints: 'show where calls of services go, and write it for a proxy' },
    load: async () => (await import('./endpoints.js')).endpoints,
  },
  {
    topic: 'Deploy and run:',
    summaries: {
      apply: 'create or update requests and deploys from files; repeating it changes nothing',
      deploy: 'deploy a new version from a file',
      plan: 'show what a deploy or a scale would change, and whether it fits',
      rollback: 'deploy an earlier version again',
    },
    load: async () => (await import('./deploy.js')).deploy,
  },
  {
    topic: 'Deploy and run:',
    summaries: {
      approve: 'approve the gate for which a deploy waits',
      reject: 'reject the gate for which a deploy waits: it is rolled back',
    },
    load: async () => (await import('./gates.js')).gates,
  },
  {
    topic: 'Deploy and run:',
    summaries: { run: 'run a job, wait for it, and exit with the exit code of its task' },
    load: async () => (await import('./run-job.js')).runJob,
  },
  {
    topic: 'Deploy and run:',
    summaries: { backfill: 'run planned times of the past of a scheduled job' },
    load: async () => (await import('./backfill.js')).backfill,
  },
  {
    topic: 'Deploy and run:',
    summaries: { flow: 'show runs that follow each other, and run a flow again' },
    load: async () => (await import('./flow.js')).flow,
  },
  {
    topic: 'Deploy and run:',
    summaries: { schedule: 'show the times of a schedule before a request has it' },
    load: async () => (await import('./schedule.js')).schedule,
  },
  {
    topic: 'Requests:',
    summaries: {
      scale: 'change the number of instances',
      bounce: 'replace all tasks with new ones',
      pause: 'stop the tasks and start no new ones',
      unpause: 'resume a paused request',
      kill: 'stop a task, or an instance of a request',
      remove: 'remove requests and their tasks; the history stays',
    },
    load: async () => (await import('./change.js')).change,
  },
  {
    topic: 'Inside tasks:',
    summaries: {
      logs: 'show the output of tasks',
      ls: 'list files in the sandbox of a task',
      cat: 'print a file from the sandbox of a task',
      shell: 'run an allowed shell command in a task',
    },
    load: async () => (await import('./sandbox.js')).sandbox,
  },
  {
    topic: 'Cluster:',
    summaries: {
      machines: 'list machines or racks with their state',
      freeze: 'start no more tasks on a machine',
      decommission: 'move all tasks away from a machine',
      activate: 'return a machine to use',
      disasters: 'show or change disasters and disabled actions',
      groups: 'list, save and remove groups of requests',
      webhooks: 'list, add and remove webhooks',
      open: 'open the page of a request or task in a browser',
    },
    load: async () => (await import('./cluster.js')).cluster,
  },
  {
    topic: 'Cluster:',
    summaries: { call: 'make any call of the API, by its method and path' },
    load: async () => (await import('./call.js')).call,
  },
  {
    topic: 'This program:',
    summaries: {
      context: 'save servers and tokens under names',
      token: 'create, list and revoke tokens; --bootstrap creates the first one',
      schema: 'print the JSON Schema of request and deploy files, for editors',
    },
    load: async () => (await import('./own.js')).own,
  },
  {
    topic: 'Servers:',
    summaries: {
      start: 'start the database, the agent and the scheduler',
      demo: 'start the same, and deploy the examples',
      scheduler: 'start the scheduler alone; the agent runs separately',
      agent: 'start the agent of a data directory alone',
      stop: 'stop the Muster that runs on a data directory',
      'database-url': 'print the URL of the database, with its password',
      psql: 'open the database in psql, or only its views for reports',
      backup: 'write the whole database to one file, while Muster runs',
      restore: 'restore the database from a backup: docs/backup.md',
    },
    load: async () => (await import('./serve.js')).serve,
  },
  { topic: 'Servers:', summaries, load: () => Promise.resolve(migrate) },
];
