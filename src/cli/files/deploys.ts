import type { DeployRequest } from 'muster-client';
import { contentId } from '../../core/content-id.js';
import { CliError } from '../exit-codes.js';
import { isMissing } from '../remote/refusal.js';
import type { Session } from '../remote/session.js';
import { readDocuments } from './documents.js';

/**
 * The deploys of files, each with an id; a request beside its deploy goes along with it, and takes effect when the deploy succeeds.
 */
export async function readDeploys(session: Session, files: readonly string[]): Promise<DeployRequest[]> {
  const { requests, deploys } = await readDocuments(files);
  const deployed = deploys.map(({ value }) => value.deploy.requestId);
  const [alone] = requests.filter(({ value }) => !deployed.includes(value.id));
  if (alone) {
    throw new CliError('usage', `${alone.place}: a request without a deploy beside it; muster apply -f makes requests`);
  }
  return Promise.all(
    deploys.map(async ({ value }) => {
      const request = requests.find(({ value: { id } }) => id === value.deploy.requestId)?.value;
      const { deploy } = value;
      return {
        ...value,
        deploy: { ...deploy, id: deploy.id ?? (await unusedId(session, deploy)) },
        ...(request && { updatedRequest: request }),
      };
    }),
  );
}

/** Made from what it says. What was deployed once and is deployed again needs another id: those of a request are never given twice. */
async function unusedId({ api }: Session, deploy: DeployRequest['deploy']): Promise<string> {
  const { requestId } = deploy;
  const id = contentId(deploy);
  for (let number = 1; ; number++) {
    const deployId = number === 1 ? id : `${id}.${number}`;
    const isUsed = await api.history.deploy({ requestId, deployId }).then(
      () => true,
      (cause: unknown) => {
        if (isMissing(cause)) return false;
        throw cause;
      },
    );
    if (!isUsed) return deployId;
  }
}
