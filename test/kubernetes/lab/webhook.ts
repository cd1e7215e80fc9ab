import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { Pod } from '../../../src/cluster/kubernetes/objects.js';
import { onTestFinished } from 'vitest';
import { waitFor } from '../../support/wait-for.js';
import { testImage } from './image.js';
import type { Lab } from './lab.js';

interface Review {
  request: { uid: string; object: Pod };
}
export type PatchOperation = { op: 'add' | 'replace' | 'remove'; path: string; value?: unknown };
/** What it says of a pod: a reason against it, changes of it, or nothing at all. */
export type WebhookAnswer = { denied: string; code?: number } | { patch: readonly PatchOperation[] } | 'NEVER';

const group = '/apis/admissionregistration.k8s.io/v1';
const name = 'third-party.example.com';

/** A webhook of a third party that looks at the pods of tasks. The API server calls it by an URL of this machine. */
export async function startWebhook(lab: Lab, kind: 'Validating' | 'Mutating', answer: (pod: Pod) => WebhookAnswer) {
  const pki = join(lab.folder, 'pki');
  const [key, cert] = [readFileSync(join(pki, 'apiserver.key')), readFileSync(join(pki, 'apiserver.crt'))];
  let calls = 0;
  const server = createServer({ key, cert }, (incoming, response) => {
    calls += 1;
    void json(incoming).then((review) => {
      const { uid, object } = (review as Review).request;
      const said = answer(object);
      if (said === 'NEVER') return;
      const refused = 'denied' in said && { code: said.code ?? 403, message: said.denied };
      const patch = 'patch' in said ? said.patch : [];
      const result = {
        uid,
        allowed: !refused,
        ...(refused && { status: refused }),
        ...(patch.length > 0 && {
          patchType: 'JSONPatch',
          patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
        }),
      };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const caBundle = readFileSync(join(pki, 'ca.crt')).toString('base64');
  const webhook = {
    name,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    timeoutSeconds: 2,
    clientConfig: { url: `https://127.0.0.1:${port}/pods`, caBundle },
    objectSelector: { matchLabels: { 'muster/installation': 'muster' } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'], scope: 'Namespaced' }],
  };
  const collection = `${group}/${kind.toLowerCase()}webhookconfigurations`;
  const body = { metadata: { name }, webhooks: [webhook] };
  await lab.api.call(collection, { method: 'POST', body });
  /** Whether the API server asks it: it learns of it, and of its end, a while later. */
  const isAsked = async (): Promise<boolean> => {
    const before = calls;
    await tryPod(lab).catch(() => undefined);
    return calls > before;
  };
  await waitFor('the webhook to be asked', isAsked, { everyMillis: 100 });
  let isThere = true;
  const stop = async (): Promise<void> => {
    if (!isThere) return;
    isThere = false;
    await lab.api.call(`${collection}/${name}`, { method: 'DELETE' });
    await waitFor('the webhook not to be asked', async () => !(await isAsked()), { everyMillis: 100 });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(stop);
  return { stop };
}

/** Makes nothing. */
const tryPod = (lab: Lab): Promise<Pod> =>
  lab.api.call<Pod>('/api/v1/namespaces/muster/pods', {
    method: 'POST',
    query: { dryRun: 'All' },
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a-trial', labels: { 'muster/installation': 'muster' } },
      spec: { containers: [{ name: 'task', image: testImage }] },
    },
  });
