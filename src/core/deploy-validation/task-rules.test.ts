import { describe, expect, test } from 'vitest';
import { validationSettings as settings } from '../../../test/support/fixtures/deploy-validation.js';
import type { Deploy, DeployTasks, StepTask } from '../model/deploy.js';
import { normalizeDeploy, validateDeploy } from './index.js';

const resources = { cpus: 1, memoryMb: 64, numPorts: 2, diskMb: 0 };
const step = (name: string, changes: Partial<StepTask> = {}): StepTask => ({ name, command: 'true', ...changes });

/** Field and rule of each problem. */
function problems(tasks: DeployTasks, changes: Partial<Deploy> = {}): string[] {
  const deploy: Deploy = { requestId: 'web', id: 'd1', command: 'sleep 1', resources, tasks, ...changes };
  const context = { request: { id: 'web', requestType: 'SERVICE' as const, instances: 2 }, settings, now: 1_000_000 };
  return validateDeploy(deploy, context).map(({ field, rule }) => `${field.replace('deploy.', '')} ${rule}`);
}

describe('programs around the main one', () => {
  test.each<{ name: string; tasks: DeployTasks; changes?: Partial<Deploy>; errors?: string[] }>([
    { name: 'one of each', tasks: { init: [step('a')], sidecars: [step('b')], post: [step('c')] } },
    { name: 'sidecars with resources', tasks: { sidecars: [{ ...step('b'), resources: { cpus: 0.5 } }] } },
    { name: 'none', tasks: {}, errors: ['tasks required'] },
    {
      name: 'executorData',
      tasks: { init: [step('a')] },
      changes: { command: undefined, customExecutorCmd: 'x', executorData: { cmd: 'true' } },
      errors: ['tasks exclusive'],
    },
    { name: 'a name in capitals', tasks: { init: [step('A')] }, errors: ['tasks.init.0.name pattern'] },
    { name: 'a name with a path', tasks: { post: [step('../a')] }, errors: ['tasks.post.0.name pattern'] },
    { name: 'a name that ends with a dash', tasks: { post: [step('a-')] }, errors: ['tasks.post.0.name pattern'] },
    { name: 'no name', tasks: { init: [step('')] }, errors: ['tasks.init.0.name pattern'] },
    { name: 'a long name', tasks: { init: [step('a'.repeat(41))] }, errors: ['tasks.init.0.name length'] },
    { name: 'the name of the main program', tasks: { init: [step('task')] }, errors: ['tasks.init.0.name reserved'] },
    {
      name: 'a name twice',
      tasks: { init: [step('a'), step('b')], sidecars: [step('b')], post: [step('a')] },
      errors: ['tasks.sidecars.0.name unique', 'tasks.post.0.name unique'],
    },
    {
      name: 'a blank command',
      tasks: { init: [step('a', { command: ' ' })] },
      errors: ['tasks.init.0.command required'],
    },
    {
      name: 'a variable of the scheduler',
      tasks: { init: [step('a', { env: { STARTED_BY_USER: 'me' } })] },
      errors: ['tasks reserved'],
    },
    {
      name: 'a variable that is too long',
      tasks: { init: [step('a', { env: { A: 'a'.repeat(200_000) } })] },
      errors: ['tasks.init.0.env size'],
    },
    {
      name: 'sidecars with more than an instance may have',
      tasks: { sidecars: [{ ...step('a'), resources: { cpus: 49.5, memoryMb: 23_990 } }] },
      errors: ['resources.cpus max', 'resources.memoryMb max'],
    },
  ])('$name: $errors', ({ tasks, changes, errors = [] }) => expect(problems(tasks, changes)).toEqual(errors));

  test('are kept as they were given, without what was left out', () => {
    const sent = { requestId: 'web', id: 'd1', tasks: { init: [step('a', { env: undefined })], sidecars: undefined } };
    expect(Object.keys(normalizeDeploy(sent).tasks ?? {})).toEqual(['init']);
    expect(Object.keys(normalizeDeploy(sent).tasks?.init?.[0] ?? {})).toEqual(['name', 'command']);
  });
});
