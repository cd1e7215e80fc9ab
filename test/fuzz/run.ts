import { parseArgs } from 'node:util';
import { fuzz } from './fuzz.js';
import { findSchemathesis } from './schemathesis.js';

/** `npm run fuzz`. Answers the exit code. */
export async function runFuzz(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } },
  });
  const schemathesis = await findSchemathesis();
  if (schemathesis === undefined) return 1;
  const { passed, calls, changes, tasksBefore, tasksAfter } = await fuzz({
    schemathesis,
    seconds: Math.round(Number(values.minutes) * 60),
    seed: values.seed === undefined ? undefined : Number(values.seed),
    print: (text) => process.stdout.write(text),
  });
  const sameTasks = String(tasksBefore.toSorted()) === String(tasksAfter.toSorted());
  console.log(`${calls} calls; ${changes} changes of the requests to practise on`);
  console.log(`${passed ? 'No' : 'Some'} 5xx or answers that the document does not allow`);
  console.log(sameTasks ? 'The same tasks run as before' : `Tasks before: ${tasksBefore}; after: ${tasksAfter}`);
  return passed && sameTasks ? 0 : 1;
}
