import { describe, expect, test } from 'vitest';
import { fuzz } from './fuzz.js';
import { findSchemathesis } from './schemathesis.js';

/** Calls that cover each value of a field come first, and need a minute of it. */
const seconds = 120;
const schemathesis = await findSchemathesis();

describe.runIf(schemathesis)('calls made up from the served document', () => {
  test(
    'are never answered with 5xx or in another form than it says, and the tasks that run are the same after them',
    async () => {
      const { passed, calls, changes, tasksBefore, tasksAfter, output } = await fuzz({
        schemathesis: schemathesis!,
        seconds,
      });
      expect(passed, output).toBe(true);
      expect(calls).toBeGreaterThan(200);
      expect(changes).toBeGreaterThan(5);
      expect(tasksAfter.toSorted()).toEqual(tasksBefore.toSorted());
    },
    (seconds + 180) * 1_000,
  );
});
