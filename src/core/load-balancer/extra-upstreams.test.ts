import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findExtraUpstreams, type Upstream } from './index.js';

const upstream = (port: number, changes: Partial<Upstream> = {}): Upstream => ({
  upstream: `h:${port}`,
  requestId: 'x',
  rackId: 'r',
  group: 'default',
  ...changes,
});

describe('upstreams behind which there is no task', () => {
  test('there are none', () =>
    expect(findExtraUpstreams([upstream(1)], [upstream(1), upstream(2)], 'default')).toEqual({ kind: 'nothing' }));
  test('are to be removed', () =>
    expect(findExtraUpstreams([upstream(1), upstream(2)], [upstream(1)], 'default')).toEqual({
      kind: 'remove',
      extra: [upstream(2)],
    }));
  test('that would be all there are: refused', () =>
    expect(findExtraUpstreams([upstream(1), upstream(2)], [upstream(3)], 'default')).toMatchObject({ kind: 'refuse' }));
  test('of another group are left alone', () =>
    expect(findExtraUpstreams([upstream(1, { group: 'other' }), upstream(2)], [upstream(2)], 'default')).toEqual({
      kind: 'nothing',
    }));
  test.each([{ rackId: 'r2' }, { upstream: 'h2:1' }])('are told apart by address, group and rack: %j', (differs) =>
    expect(findExtraUpstreams([upstream(1), upstream(2)], [upstream(1, differs), upstream(2)], 'default')).toEqual({
      kind: 'remove',
      extra: [upstream(1)],
    }),
  );
  test('an empty service has none', () =>
    expect(findExtraUpstreams([], [upstream(1)], 'default')).toEqual({ kind: 'nothing' }));
});

test('an upstream of a task is never removed, and never all of them', () => {
  const ports = fc.array(fc.nat(9), { maxLength: 8 });
  fc.assert(
    fc.property(ports, ports, (present, wanted) => {
      const check = findExtraUpstreams(
        present.map((port) => upstream(port)),
        wanted.map((port) => upstream(port)),
        'default',
      );
      if (check.kind !== 'remove') return;
      for (const extra of check.extra) expect(wanted.map((port) => `h:${port}`)).not.toContain(extra.upstream);
      expect(check.extra.length).toBeLessThan(present.length);
    }),
  );
});
