import { migrate, summaries } from '../../../packages/migrate/src/commands.js';
import type { Define } from '../run.js';

interface Topic {
  topic: string;
  /** By the name of the command: what the list of commands says. */
  summaries: Record<string, string>;
  /** The module of these commands, loaded when one of them is called. */
  load: () => Promise<Record<string, Define>>;
}

/** Every command, in the order of the help. */
export const commands: readonly Topic[] = [
  {
    topic: 'Look:',
    summaries: {
      requests: 'requests, their state and their deploys',
      ps: 'tasks that run or wait',
      explain: 'why tasks of a request wait',
      history: 'what ran, was deployed and was changed',
      events: 'what happens, as it happens',
    },
    load: async () => (await import('./look.js')).look,
  },
  {
    topic: 'Deploy and run:',
    summaries: {
      apply: 'makes requests and deploys as files say; a second time changes nothing',
      deploy: 'deploys what a file says',
      plan: 'what a deploy or a scale would change, and whether it fits',
      rollback: 'deploys an earlier version again',
    },
    load: async () => (await import('./deploy.js')).deploy,
  },
  {
    topic: 'Deploy and run:',
    summaries: { run: 'runs a job, waits, and ends with the exit code of its task' },
    load: async () => (await import('./run-job.js')).runJob,
  },
  {
    topic: 'Requests:',
    summaries: {
      scale: 'another number of instances',
      bounce: 'replaces all tasks by new ones',
      pause: 'ends the tasks and starts no others',
      unpause: 'goes on after a pause',
      kill: 'ends a task, or an instance of a request',
      remove: 'removes a request with its tasks; its history stays',
    },
    load: async () => (await import('./change.js')).change,
  },
  {
    topic: 'Inside of tasks:',
    summaries: {
      logs: 'what tasks print',
      ls: 'files in the sandbox of a task',
      cat: 'a file in the sandbox of a task',
      shell: 'runs an allowed shell command in a task',
    },
    load: async () => (await import('./sandbox.js')).sandbox,
  },
  {
    topic: 'The cluster:',
    summaries: {
      slaves: 'machines, or racks, and their state',
      freeze: 'starts no more tasks on a machine',
      decommission: 'moves the tasks of a machine elsewhere',
      activate: 'takes a machine back into use',
      disasters: 'what is seen as a disaster, and actions that are switched off',
      groups: 'groups of requests',
      webhooks: 'who is told of updates',
      open: 'the page of a request or task in a browser',
    },
    load: async () => (await import('./cluster.js')).cluster,
  },
  {
    topic: 'This program:',
    summaries: {
      context: 'servers and tokens under names',
      token: 'tokens of callers; --bootstrap makes the first one',
      schema: 'the JSON Schema of request and deploy files, for editors',
    },
    load: async () => (await import('./own.js')).own,
  },
  {
    topic: 'Servers:',
    summaries: {
      start: 'database, agent and scheduler',
      demo: 'the same, with the examples deployed',
      scheduler: 'the scheduler alone; the agent runs apart',
      agent: 'the agent of a data directory alone',
      stop: 'stops what runs on a data directory, in order',
      'database-url': 'prints the URL of the database, with its password',
      psql: 'opens the database in psql, or its views for reports',
      backup: 'writes the whole database into one file, while everything runs',
      restore: 'puts a backup into the database: docs/backup.md',
    },
    load: async () => (await import('./serve.js')).serve,
  },
  { topic: 'Servers:', summaries, load: () => Promise.resolve(migrate) },
];
