import express from 'express';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Layer, RouteFinder } from './route-finder.js';

const part = fc.constantFrom('a', 'b', 'ids', ':id', ':other', '*rest', 'x{y}');
const path = fc.array(part, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
const called = fc
  .array(fc.constantFrom('a', 'b', 'ids', 'xy', 'x', 'A', '', '%41', 'z'), { maxLength: 5 })
  .map((parts) => `/${parts.join('/')}`);

/** What a router of Express would do: ask one after the other. */
const asked = (layers: readonly Layer[], wanted: string) =>
  layers.findIndex(({ route, match }, index) => route?.methods['get'] && match.call(layers[index], wanted));

test('the route is the one that comes first of those that take the path, whatever routes there are', () => {
  fc.assert(
    fc.property(fc.array(path, { maxLength: 12 }), fc.array(called, { maxLength: 12 }), (paths, calls) => {
      const app = express();
      Object.assign(app.router, { caseSensitive: true });
      for (const one of paths) app.get(one.replace(/\*rest\/.*/, '*rest'), () => undefined);
      const layers = app.router.stack as unknown as Layer[];
      const finder = new RouteFinder(layers, 'get');
      for (const wanted of calls) expect(finder.find(wanted)?.order ?? -1).toBe(asked(layers, wanted));
    }),
    { numRuns: 500 },
  );
});
