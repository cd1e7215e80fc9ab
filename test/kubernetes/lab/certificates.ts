import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { outputOf } from './daemon.js';

/** A certificate authority, and what the parts of the cluster show each other. */
export async function makeCertificates(folder: string, addresses: readonly string[]): Promise<void> {
  const at = (name: string) => join(folder, name);
  await outputOf('openssl', 'genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', at('sa.key'));
  await outputOf('openssl', 'pkey', '-in', at('sa.key'), '-pubout', '-out', at('sa.pub'));
  const ca = ['-keyout', at('ca.key'), '-out', at('ca.crt'), '-days', '2', '-subj', '/CN=muster-test'];
  await outputOf('openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...ca);
  const names = ['DNS:localhost', ...['127.0.0.1', ...addresses].map((address) => `IP:${address}`)].join(',');
  for (const [name, subject] of [
    ['apiserver', '/CN=kube-apiserver'],
    // What kubelets take calls of the API server from, and their own.
    ['kubelet-client', '/O=system:masters/CN=kubelet-client'],
    ['kubelet', '/O=system:masters/CN=kubelet'],
  ] as const) {
    writeFileSync(at(`${name}.ext`), `subjectAltName=${names}\nextendedKeyUsage=serverAuth,clientAuth\n`);
    const asked = ['-keyout', at(`${name}.key`), '-out', at(`${name}.csr`), '-subj', subject];
    await outputOf('openssl', 'req', '-newkey', 'rsa:2048', '-nodes', ...asked);
    const signed = ['-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-CAcreateserial', '-out', at(`${name}.crt`)];
    const extended = ['-extfile', at(`${name}.ext`)];
    await outputOf('openssl', 'x509', '-req', '-days', '2', '-in', at(`${name}.csr`), ...signed, ...extended);
  }
}

interface Access {
  server: string;
  /** Path of its certificate. */
  authority: string;
  token: string;
  namespace: string;
}

/** A kubeconfig. */
export const configFor = ({ server, authority, token, namespace }: Access): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': authority } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace } }],
    'current-context': 'test',
  });
