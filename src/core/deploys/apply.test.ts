import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalizeDeploy } from '../deploy-validation/index.js';
import type { Deploy } from '../model/deploy.js';
import { decideApply, leftOut } from './apply.js';

const deploy = (members: Partial<Deploy> = {}): Deploy =>
  normalizeDeploy({ requestId: 'web', id: 'v1', command: 'serve', ...members });
/** As before members were filled in that are now. */
const older = { requestId: 'web', id: 'v1', command: 'serve' };

test.each<{ name: string; wanted: Deploy; present?: Parameters<typeof decideApply>[1]; step: object }>([
  { name: 'nothing that runs', wanted: deploy(), step: { kind: 'start', changes: [] } },
  {
    name: 'the same',
    wanted: deploy(),
    present: { deploy: deploy(), inProgress: false },
    step: { kind: 'unchanged', deployId: 'v1' },
  },
  {
    name: 'the same under another id',
    wanted: deploy({ id: '' }),
    present: { deploy: deploy({ id: 'v7' }), inProgress: false },
    step: { kind: 'unchanged', deployId: 'v7' },
  },
  {
    name: 'the same on its way',
    wanted: deploy({ id: '' }),
    present: { deploy: deploy(), inProgress: true },
    step: { kind: 'inProgress', deployId: 'v1' },
  },
  {
    name: 'the same as an earlier version stored it',
    wanted: deploy(),
    present: { deploy: older, inProgress: false },
    step: { kind: 'unchanged', deployId: 'v1' },
  },
  {
    name: 'another variable, and one that is gone',
    wanted: deploy({ env: { COLOUR: 'blue' } }),
    present: { deploy: deploy({ env: { COLOUR: 'red', SIZE: '1' } }), inProgress: false },
    step: { kind: 'start', changes: ['deploy.env.COLOUR', 'deploy.env.SIZE'] },
  },
  {
    // It means something else than none: none is as often as the settings say.
    name: 'a zero in place of nothing',
    wanted: deploy({ healthcheck: { uri: '/', maxRetries: 0 } }),
    present: { deploy: deploy({ healthcheck: { uri: '/' } }), inProgress: false },
    step: { kind: 'start', changes: ['deploy.healthcheck.maxRetries'] },
  },
  {
    name: 'another one than that on its way',
    wanted: deploy({ id: 'v2', command: 'sleep' }),
    present: { deploy: deploy(), inProgress: true },
    step: { kind: 'start', changes: ['deploy.command'] },
  },
])('beside $name', ({ wanted, present, step }) => expect(decideApply(wanted, present)).toEqual(step));

test.each([
  [{}, ['deploy.resources is left out: 1 core, 64 MB by default']],
  [{ resources: { cpus: 2, memoryMb: 1 } }, []],
])('of %j it is told what is left out: %j', (members, told) =>
  expect(leftOut(deploy(members), { defaultCpus: 1, defaultMemory: 64 })).toEqual(told),
);

test('what was started is unchanged from then on, in whatever order its members are sent', () =>
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.string()),
      fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
      (env, user) => {
        const sent = { command: 'serve', env, user };
        const turned = { user, env: Object.fromEntries(Object.entries(env).toReversed()), command: 'serve' };
        const stored = JSON.parse(JSON.stringify(deploy(sent))) as Deploy;
        expect(decideApply(deploy({ ...turned, id: 'x' }), { deploy: stored, inProgress: false }).kind).toBe(
          'unchanged',
        );
      },
    ),
  ));
