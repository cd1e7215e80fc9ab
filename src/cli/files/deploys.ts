import { createHash } from 'node:crypto';
import type { Deploy, DeployRequest } from 'muster-client';
import { CliError } from '../exit-codes.js';
import { readDocuments } from './documents.js';

/** The deploys of files; a request beside its deploy goes along with it, and takes effect when the deploy succeeds. */
export async function readDeploys(files: readonly string[]): Promise<DeployRequest[]> {
  const { requests, deploys } = await readDocuments(files);
  const deployed = deploys.map(({ value }) => value.deploy.requestId);
  const [alone] = requests.filter(({ value }) => !deployed.includes(value.id));
  if (alone) {
    throw new CliError('usage', `${alone.place}: a request without a deploy beside it; muster apply -f makes requests`);
  }
  return deploys.map(({ value }) => {
    const request = requests.find(({ value: { id } }) => id === value.deploy.requestId)?.value;
    const { deploy } = value;
    return {
      ...value,
      deploy: { ...deploy, id: deploy.id ?? idOf(deploy) },
      ...(request && { updatedRequest: request }),
    };
  });
}

/** Of a deploy without one: the same for the same content, in whatever order its members stand. */
export function idOf(deploy: Omit<Deploy, 'id'>): string {
  const { id: _none, ...content } = deploy as Deploy;
  return createHash('sha256').update(canonical(content)).digest('hex').slice(0, 12);
}

export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}
