import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { plainHost, type ProxiedService, proxyText } from '../../src/core/discovery/index.js';
import { isInstalled, type ProxyName } from '../support/proxies/example-proxy.js';
import { tempFolder } from '../support/temp-folder.js';

/** What is written for nginx and HAProxy, as these read it. */
const host = fc
  .oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('localhost', '::1', '::ffff:10.0.0.1'))
  .map((text) => plainHost(text)!);
const endpoint = fc.record({ host, port: fc.integer({ min: 1, max: 65_535 }), rackId: fc.constant('r') });
const service: fc.Arbitrary<ProxiedService> = fc.record({
  requestId: fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,20}$/),
  endpoints: fc.uniqueArray(endpoint, { selector: ({ host: name, port }) => `${name} ${port}`, maxLength: 5 }),
});
const services = fc.uniqueArray(service, {
  selector: ({ requestId }) => requestId.toLowerCase(),
  minLength: 1,
  maxLength: 20,
});

/** What the proxy says against this text; empty: nothing. */
function check(name: ProxyName, text: string): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const file = join(path, 'written');
  writeFileSync(file, text);
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path temp-${each};`);
  const nginx = `pid nginx.pid; events {} http { access_log off; ${temp.join(' ')} include written; }`;
  writeFileSync(join(path, 'nginx.conf'), nginx);
  writeFileSync(
    join(path, 'haproxy.cfg'),
    'defaults\n  mode http\n  timeout connect 1s\n  timeout client 1s\n  timeout server 1s\nfrontend any\n  bind 127.0.0.1:1\n',
  );
  const words =
    name === 'nginx'
      ? ['-p', path, '-c', 'nginx.conf', '-e', 'error.log', '-t']
      : ['-c', '-f', join(path, 'haproxy.cfg'), '-f', file];
  const { status, stdout, stderr } = spawnSync(name, words, { encoding: 'utf8' });
  return status === 0 ? '' : `${stdout}${stderr}\n${text}`;
}

test.skipIf(!isInstalled('nginx'))('nginx takes whatever is written for it', { timeout: 120_000 }, () => {
  for (const sample of fc.sample(services, 20)) expect(check('nginx', proxyText('NGINX', sample) as string)).toBe('');
  expect(check('nginx', 'upstream web { server 10.0.0.1:1; } upstream WEB { server 10.0.0.1:2; }')).toContain(
    'duplicate upstream',
  );
});
test.skipIf(!isInstalled('haproxy'))('HAProxy takes whatever is written for it', { timeout: 120_000 }, () => {
  for (const sample of fc.sample(services, 20))
    expect(check('haproxy', proxyText('HAPROXY', sample) as string)).toBe('');
  expect(check('haproxy', 'backend a;b\n')).not.toBe('');
});
