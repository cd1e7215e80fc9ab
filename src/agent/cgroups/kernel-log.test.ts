import { expect, test } from 'vitest';
import { isEndByLimit, saysOutOfMemory } from './kernel-log.js';

const id = 'c0ffee'.repeat(10);

test.each([
  {
    name: 'a limit of the group',
    text: `6,1201,99,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/libpod_parent/libpod-${id},task_memcg=/libpod_parent/libpod-${id},task=dd,pid=7,uid=1\n`,
    is: true,
  },
  {
    name: 'a limit of the group in the words of older kernels',
    text: `6,1,2,-;Task in /docker/${id} killed as a result of limit of /docker/${id}\n`,
    is: true,
  },
  {
    name: 'a limit of a group above it',
    text: `6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/machine,task_memcg=/machine/libpod-${id},task=dd,pid=7,uid=1\n`,
    is: false,
  },
  {
    name: 'a machine without memory',
    text: `6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg=/libpod-${id},task=dd,pid=7\n`,
    is: false,
  },
  { name: 'something else about it', text: `6,1,2,-;eth0: /docker/${id} entered promiscuous mode\n`, is: false },
])('$name: $is', ({ text, is }) => {
  expect(isEndByLimit(text, id)).toBe(is);
  expect(isEndByLimit(text, 'another'.repeat(5))).toBe(false);
});

test('a log that cannot be read says nothing', () => {
  expect(saysOutOfMemory(id, '/no/such/device')).toBe(false);
  expect(saysOutOfMemory(id, '/')).toBe(false);
  expect(saysOutOfMemory(id, '/dev/null')).toBe(false);
});
