import { expect, test } from 'vitest';
import { type InService, startWait } from './index.js';

const service = (id: string, own: Partial<InService> = {}, instances = 2): InService => ({
  request: { id, requestType: 'SERVICE', instances, startAfter: ['db', 'queue'] },
  state: 'ACTIVE',
  tasks: 2,
  ...own,
});
const wait = (own: Partial<InService>, ...named: InService[]) =>
  startWait(service('web', { tasks: 0, ...own }), new Map(named.map((each) => [each.request.id, each])));

test.each<{ name: string; waits: string | undefined; own?: Partial<InService>; named: InService[] }>([
  { name: 'nothing when all are in service', named: [service('db'), service('queue')], waits: undefined },
  {
    name: 'one that has too few tasks in service',
    named: [service('db', { tasks: 1 }), service('queue')],
    waits: "'db' has 1 of 2 instances in service",
  },
  {
    name: 'each of several, in their order',
    named: [service('queue', { state: 'PAUSED' }), service('db', { tasks: 0 })],
    waits: "'db' has 0 of 2 instances in service, 'queue' is PAUSED",
  },
  { name: 'none that is gone', named: [service('db')], waits: undefined },
  {
    name: 'none while it is in service itself',
    own: { tasks: 1 },
    named: [service('db', { tasks: 0 })],
    waits: undefined,
  },
  {
    name: 'one that cools down and has too few',
    named: [service('db', { tasks: 0, state: 'SYSTEM_COOLDOWN' })],
    waits: "'db' has 0 of 2 instances in service",
  },
])('a first start waits for $name', ({ own = {}, named, waits }) => expect(wait(own, ...named)).toBe(waits));
