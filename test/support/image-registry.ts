import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** Manifest that podman writes for `push <image> dir:<folder>`. */
interface Manifest {
  mediaType?: string;
}
const ofOci = 'application/vnd.oci.image.manifest.v1+json';

/** A registry with one image, `<server>/app:1`, for who has the password. */
export async function startRegistry(folder: string, user: string, password: string) {
  const manifest = readFileSync(join(folder, 'manifest.json'));
  const { mediaType = ofOci } = JSON.parse(manifest.toString()) as Manifest;
  const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const calls: string[] = [];
  const server = createServer(({ method, url = '', headers: { authorization } }, response) => {
    calls.push(`${method} ${url}`);
    const answer = (status: number, headers: Record<string, string>, body: Buffer | string = '') =>
      void response
        .writeHead(status, { 'Docker-Distribution-Api-Version': 'registry/2.0', ...headers })
        .end(method === 'HEAD' ? undefined : body);
    if (authorization !== expected) return answer(401, { 'WWW-Authenticate': 'Basic realm="test"' });
    if (url === '/v2/') return answer(200, {});
    const [, kind, name] = /^\/v2\/app\/(manifests|blobs)\/([\w:.]+)$/.exec(url) ?? [];
    if (kind === 'manifests' && (name === '1' || name === digest))
      return answer(200, { 'Content-Type': mediaType, 'Docker-Content-Digest': digest }, manifest);
    if (kind === 'blobs' && name?.startsWith('sha256:'))
      return answer(200, { 'Content-Type': 'application/octet-stream' }, readFileSync(join(folder, name.slice(7))));
    answer(404, {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    server: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
