import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.js';
import { PodAgentSettings, readPodAgentSettings } from './pod-agent-settings.js';

const page = new URL('../../docs/kubernetes.md', import.meta.url);

test('docs/kubernetes.md lists every setting', () => {
  const text = readFileSync(page, 'utf8').replaceAll(/ {2,}/g, ' ');
  const defaults: Record<string, unknown> = PodAgentSettings.parse({});
  for (const [key, { description = '' }] of Object.entries(PodAgentSettings.shape)) {
    const value = defaults[key];
    const isWords = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
    const said = isWords ? value.join(' ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
    const usual = value === undefined ? '' : `\`${said}\``;
    expect(text).toContain(`| \`${key}\` | ${usual === '' ? '' : `${usual} `}| ${description} |`);
  }
});

function file(text: string): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const secret = 's'.repeat(32);
  writeFileSync(join(path, 'secret'), `${secret}\n`);
  writeFileSync(join(path, 'three'), `${secret}\n${secret}\n${secret}\n`);
  writeFileSync(join(path, 'short'), `${secret}\nshort\n`);
  writeFileSync(join(path, 'agent.yaml'), text.replace('HERE', path));
  return join(path, 'agent.yaml');
}

test('a file says what differs', () => {
  const settings = readPodAgentSettings(file('installation: blue\nsecretFile: HERE/secret\nlogMegabytes: 5\n'));
  expect(settings).toMatchObject({
    root: '/var/lib/muster/blue',
    secrets: ['s'.repeat(32)],
    port: 7098,
    logMegabytes: 5,
  });
});

test.each([
  ['root: relative\nport: 70000\nother: 1', /root: must be an absolute path[^]*port: [^]*other/],
  ['secretFile: /dev/null', /secretFile: .* must hold at least 32 characters/],
  ['secretFile: HERE/none', /ENOENT/],
  ['secretFile: HERE/three', /must hold one secret, or two/],
  ['secretFile: HERE/short', /secretFile: .* must hold at least 32 characters/],
])('%j is refused', (text, message) => expect(() => readPodAgentSettings(file(text))).toThrow(message));
