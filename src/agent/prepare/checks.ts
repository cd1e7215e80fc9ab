import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { DeployFault } from './faults.js';

export async function md5Of(path: string): Promise<string> {
  const hash = createHash('md5');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Size first, then content. What the artifact does not tell is not checked. */
export async function checkFile(
  path: string,
  artifact: { filename?: string; filesize?: number; md5sum?: string },
): Promise<void> {
  const { size } = await stat(path);
  if (artifact.filesize !== undefined && artifact.filesize !== size)
    throw new DeployFault(`${artifact.filename}: ${size} bytes instead of ${artifact.filesize}`);
  if (!artifact.md5sum) return;
  const md5 = await md5Of(path);
  if (md5 !== artifact.md5sum.toLowerCase())
    throw new DeployFault(`${artifact.filename}: md5 ${md5} instead of ${artifact.md5sum}`);
}
