import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stepsOf } from './steps';

interface Node {
  readonly id: string;
  readonly parents: readonly string[];
}
const steps = (nodes: readonly Node[]) =>
  stepsOf(
    nodes,
    ({ id }) => id,
    ({ parents }) => parents,
  ).map((step) => step.map(({ id }) => id));

test('a fan-out and a fan-in are three steps, in the order of the nodes', () =>
  expect(
    steps([
      { id: 'report', parents: ['orders', 'prices'] },
      { id: 'prices', parents: ['load'] },
      { id: 'orders', parents: ['load', 'not to be seen'] },
      { id: 'load', parents: [] },
    ]),
  ).toEqual([['load'], ['prices', 'orders'], ['report']]));

test('a circle ends', () =>
  expect(
    steps([
      { id: 'a', parents: ['b'] },
      { id: 'b', parents: ['a'] },
      { id: 'c', parents: [] },
    ]),
  ).toEqual([['c'], ['a', 'b']]));

test('each node is there once, behind all of its parents, directly behind one of them', () =>
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.nat({ max: 9 }), { maxLength: 3 }), { maxLength: 10 }).map((all) =>
        all.map((parents, id): Node => ({
          id: String(id),
          parents: parents.filter((parent) => parent < id).map(String),
        })),
      ),
      (nodes) => {
        const found = steps(nodes.toReversed());
        const stepOf = new Map(found.flatMap((step, index) => step.map((id) => [id, index] as const)));
        expect(found.flat().toSorted()).toEqual(nodes.map(({ id }) => id).toSorted());
        for (const { id, parents } of nodes)
          expect(stepOf.get(id)).toBe(Math.max(-1, ...parents.map((parent) => stepOf.get(parent)!)) + 1);
      },
    ),
  ));
