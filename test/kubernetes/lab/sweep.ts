import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, killNow, pidsMentioning } from '../../e2e/support/processes.js';
import { waitFor } from '../../support/wait-for.js';
import { removeTraces } from './lab-node.js';

/** Prefix of the directories of labs, below that of the system for temporary files. */
const folderPrefix = 'muster-lab-';
/** In them: the process that made it. */
const ownerFile = 'owner';

/** One that goes with the next lab, or at the end of the command, where this process does not come to remove it. */
export function sweptFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), folderPrefix));
  writeFileSync(join(folder, ownerFile), String(process.pid));
  return folder;
}

/** Ends and removes what is left of tests that were killed. */
export async function sweep(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(folderPrefix))) {
    const folder = join(tmpdir(), name);
    let owner: number;
    try {
      owner = Number(readFileSync(join(folder, ownerFile), 'utf8'));
    } catch {
      continue; // It is just being made, or removed.
    }
    if (isAlive(owner)) continue;
    await waitFor(`the programs of ${folder} to end`, () => {
      const left = pidsMentioning(`${folder}/`);
      killNow(left);
      return left.length === 0;
    });
    for (const node of readdirSync(folder).filter((each) => each.startsWith('node-')))
      await removeTraces(join(folder, node));
    rmSync(folder, { recursive: true, force: true });
  }
}

// `npm run test:kubernetes` calls it when its tests have ended in any way.
if (process.argv[1] === import.meta.filename) await sweep();
