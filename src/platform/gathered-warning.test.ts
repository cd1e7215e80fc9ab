import { expect, test } from 'vitest';
import { waitFor } from '../../test/support/wait-for.js';
import { GatheredWarning } from './gathered-warning.js';

test('hundreds of failures at once are one line, and a later one is another', async () => {
  const lines: string[] = [];
  const warning = new GatheredWarning((line) => lines.push(line), 20);
  for (let n = 0; n < 649; n++) warning.note(`delivery ${n} stopped`);
  await waitFor('the line', () => lines.length > 0);
  warning.note('delivery 700 stopped');
  await waitFor('the other line', () => lines.length > 1);
  expect(lines).toEqual(['delivery 0 stopped (and 648 more like it)', 'delivery 700 stopped']);
});
