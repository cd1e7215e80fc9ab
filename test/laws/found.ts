import type { Schedule } from './world/hold-laws.js';
import type { DeployPlan, MachinePlan } from './world/plan.js';
import type { Step } from './world/steps.js';

const machine: MachinePlan = { rackId: 'rack-a', attributes: {}, cpus: 2, memoryMb: 512, ports: 20 };
const deploy: DeployPlan = { behaviour: 'run for ever', cpus: 0.1, memoryMb: 64, numPorts: 0 };
const pass: Step = { do: 'pass', pass: 'all' };
const live = (seconds: number): Step => ({ do: 'live', seconds });

/** Schedules that broke a law once, made small. */
export const found: { name: string; schedule: Schedule }[] = [
  {
    name: 'a decommission that is cancelled leaves no instance running twice',
    schedule: [
      {
        seed: 0,
        quietSeconds: 8,
        machines: [machine],
        requests: [{ request: { requestType: 'SERVICE', instances: 1 }, deploy }],
      },
      [
        { do: 'machine', machine: 0, to: 'STARTING_DECOMMISSION' },
        live(2),
        { do: 'machine', machine: 0, to: 'ACTIVE' },
      ],
    ],
  },
  {
    name: 'a decommission that is cancelled after a task was replaced keeps the replacement alone',
    schedule: [
      {
        seed: 0,
        quietSeconds: 0,
        machines: [machine, { ...machine, attributes: { zone: 'east' } }, machine],
        requests: [
          { request: { requestType: 'SERVICE', instances: 3, requiredSlaveAttributes: { zone: 'east' } }, deploy },
        ],
      },
      [
        { do: 'attributes', machine: 2, attributes: { zone: 'east' } },
        pass,
        { do: 'machine', machine: 1, to: 'STARTING_DECOMMISSION' },
        live(2),
        { do: 'end', task: 2, state: 'TASK_FAILED' },
        { do: 'wait', millis: 3 },
      ],
    ],
  },
  {
    name: 'a decommission that is cancelled during a deploy leaves no instance of the new one running twice',
    schedule: [
      {
        seed: 0,
        quietSeconds: 8,
        machines: [machine, machine, machine],
        requests: [{ request: { requestType: 'SERVICE', instances: 1 }, deploy }],
      },
      [
        { do: 'deploy', request: 0, plan: deploy },
        { do: 'scale', request: 0, instances: 2 },
        live(1),
        { do: 'between', order: { do: 'machine', machine: 11, to: 'STARTING_DECOMMISSION' } },
        live(2),
        { do: 'between', order: { do: 'scale', request: 0, instances: 1 } },
        { do: 'end', task: 0, state: 'TASK_FAILED' },
        { do: 'bounce', request: 0, incremental: false },
        { do: 'wait', millis: 3 },
      ],
    ],
  },
  {
    name: 'the order in which tasks are read does not say which of an incremental bounce goes first',
    schedule: [
      {
        seed: 943_469_112,
        quietSeconds: 0,
        machines: [machine, machine],
        requests: [{ request: { requestType: 'SERVICE', instances: 2 }, deploy: { ...deploy, numPorts: 2 } }],
      },
      [pass, { do: 'wait', millis: 70_000 }, { do: 'bounce', request: 0, incremental: true }, live(1), pass, pass],
    ],
  },
  {
    name: 'the failures of a deploy are listed in one order',
    schedule: [
      {
        seed: 0,
        quietSeconds: 0,
        machines: [machine],
        requests: [{ request: { requestType: 'WORKER', instances: 2 }, deploy }],
      },
      [{ do: 'wait', millis: 30_000 }, pass],
    ],
  },
  {
    name: 'a run that was planned while its request cooled down keeps its time when the request is back',
    schedule: [
      {
        seed: 0,
        quietSeconds: 8,
        machines: [{ ...machine, ports: 0 }],
        requests: [
          {
            request: { requestType: 'SCHEDULED', quartzSchedule: '*/5 * * * * ?', numRetriesOnFailure: 2 },
            deploy: { ...deploy, behaviour: 'fail after 200 ms' },
          },
        ],
      },
      [
        { do: 'between', order: { do: 'run', request: 0 } },
        live(1),
        pass,
        { do: 'wait', millis: 70_000 },
        pass,
        { do: 'scale', request: 0, instances: 1 },
        { do: 'between', order: { do: 'run', request: 0 } },
        pass,
      ],
    ],
  },
  {
    name: 'a task of a former leader went to a machine as that leader knew it',
    schedule: [
      {
        seed: 0,
        quietSeconds: 0,
        machines: [{ ...machine, ports: 0 }],
        requests: [{ request: { requestType: 'ON_DEMAND' }, deploy: { ...deploy, behaviour: 'end after 300 ms' } }],
      },
      [
        { do: 'attributes', machine: 0, attributes: { reserved: 'yes' } },
        { do: 'between', order: { do: 'run', request: 0 } },
        { do: 'overtake' },
        { do: 'unreachable', machine: 0 },
        { do: 'run', request: 0 },
        live(1),
      ],
    ],
  },
  {
    name: 'a new deploy waited for the run in progress, and its request was paused and unpaused meanwhile',
    schedule: [
      {
        seed: 0,
        quietSeconds: 0,
        machines: [{ ...machine, ports: 0 }],
        requests: [
          {
            request: { requestType: 'SCHEDULED', quartzSchedule: '*/5 * * * * ?' },
            deploy: { ...deploy, behaviour: 'end after 300 ms' },
          },
        ],
      },
      [
        { do: 'run', request: 0 },
        { do: 'unreachable', machine: 0 },
        pass,
        { do: 'deploy', request: 0, plan: { ...deploy, behaviour: 'end after 300 ms' } },
        { do: 'pause', request: 0, killTasks: false },
        live(1),
        pass,
        { do: 'unpause', request: 0 },
        pass,
        live(1),
      ],
    ],
  },
  {
    name: 'a task that was refused at once gave its id to the run after it, under a new leader in the same milliseconds',
    schedule: [
      {
        seed: 0,
        quietSeconds: 0,
        machines: [{ ...machine, ports: 0 }],
        requests: [
          {
            request: { requestType: 'WORKER', instances: 1 },
            deploy: { ...deploy, behaviour: 'be refused', maxTaskRetries: 2 },
          },
          { request: { requestType: 'SERVICE', instances: 1 }, deploy },
        ],
      },
      [
        pass,
        pass,
        pass,
        { do: 'crash', unsent: false },
        { do: 'run', request: 0 },
        pass,
        { do: 'bounce', request: 0, incremental: false },
      ],
    ],
  },
  {
    name: 'a pause that ended a deploy, and was taken back before it was carried out, left the task of that deploy running',
    schedule: [
      {
        seed: 0,
        quietSeconds: 0,
        machines: [machine],
        requests: [{ request: { requestType: 'WORKER', instances: 1 }, deploy }],
      },
      [
        live(1),
        { do: 'pause', request: 0, killTasks: false },
        { do: 'pass', pass: 'deploys' },
        { do: 'unpause', request: 0 },
        { do: 'wait', millis: 3 },
        pass,
        pass,
      ],
    ],
  },
];
