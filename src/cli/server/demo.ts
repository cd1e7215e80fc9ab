import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { say } from './announce.js';

const examples = fileURLToPath(new URL('../../../../examples', import.meta.url));
const attempts = 60;

/** Posts the first version of every example, those left out that are there already. */
export async function deployExamples(url: string): Promise<void> {
  say('Deploying the examples:');
  for (const entry of readdirSync(examples, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const folder = join(examples, entry.name);
    const request = read(join(folder, 'request.json'));
    const { id } = JSON.parse(request) as { id: string };
    const existing = await fetch(`${url}/api/requests/request/${encodeURIComponent(id)}`);
    if (existing.ok) {
      say(`  ${id}: is there already`);
      continue;
    }
    await post(`${url}/api/requests`, request);
    await post(`${url}/api/deploys`, read(join(folder, firstDeploy(folder))));
    say(`  ${id}: ${url}/api/requests/request/${id}`);
  }
}

const read = (path: string): string => readFileSync(path, 'utf8');
const firstDeploy = (folder: string): string =>
  readdirSync(folder)
    .filter((file) => file.startsWith('deploy-'))
    .sort()[0]!;

/** 503 means "not now": asked again for a while. */
async function post(url: string, body: string): Promise<void> {
  for (let left = attempts; ; left--) {
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    if (answer.ok) return;
    const text = await answer.text();
    if (answer.status !== 503 || left === 0) throw new Error(`POST ${url} answered ${answer.status}: ${text}`);
    await delay(500);
  }
}
