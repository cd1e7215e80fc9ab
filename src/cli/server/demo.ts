import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { RequestParent } from '../../core/model/request.js';
import { say } from './announce.js';

const examples = fileURLToPath(new URL('../../../../examples', import.meta.url));
const attempts = 120;

/** Applies the first version of every example, those left out that have a deploy. One that cannot be applied is a line of its own. */
export async function deployExamples(url: string): Promise<void> {
  say('Deploying the examples:');
  for (const entry of readdirSync(examples, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const folder = join(examples, entry.name);
    if (!readdirSync(folder).includes('request.json')) continue;
    try {
      say(`  ${entry.name}: ${await deployExample(url, folder)}`);
    } catch (cause) {
      say(`  ${entry.name}: cannot be deployed: ${(cause as Error).message}`);
    }
  }
}

async function deployExample(url: string, folder: string): Promise<string> {
  const request = JSON.parse(readFileSync(join(folder, 'request.json'), 'utf8')) as { id: string };
  const address = `${url}/api/requests/request/${encodeURIComponent(request.id)}`;
  const existing = await fetch(address);
  if (existing.ok) {
    const { activeDeploy, pendingDeploy } = (await existing.json()) as RequestParent;
    if (activeDeploy ?? pendingDeploy) return 'is there already';
  }
  const first = readdirSync(folder)
    .filter((file) => file.startsWith('deploy-'))
    .sort()[0]!;
  const { deploy } = JSON.parse(readFileSync(join(folder, first), 'utf8')) as { deploy: object };
  await apply(url, { request, deploy });
  return address;
}

/** 503 means "not now", and what is being removed is gone in a moment: asked again for a while. */
async function apply(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  for (let left = attempts; ; left--) {
    const answer = await fetch(`${url}/api/requests/apply`, { method: 'POST', headers, body: JSON.stringify(body) });
    const told = (await answer.json()) as { code?: string; message?: string };
    if (answer.ok) return;
    const passes = answer.status === 503 || told.code === 'REQUEST_BEING_CLEANED';
    if (!passes || left === 0) throw new Error(told.message ?? `the answer was ${answer.status}`);
    await delay(500);
  }
}
