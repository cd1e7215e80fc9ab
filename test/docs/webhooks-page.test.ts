import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { signature } from '../../src/modules/webhooks/webhook-sender.service.js';
import { tempFolder } from '../support/temp-folder.js';

const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
const block = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page.slice(page.indexOf('## Check a signature')))![1]!;

interface Delivery {
  headers: Record<string, string>;
  body: string;
  secret: string;
}
const secret = `whsec_${Buffer.from('a key of 24 bytes or more').toString('base64')}`;
const body = '{"name":"Zo\u00eb \u20ac"}';
const sign = (key: string, at = Date.now()) => signature('msg_1', at, body, key);
const deliveries: (Delivery & { genuine: boolean })[] = [
  { headers: sign(secret), body, secret, genuine: true },
  { headers: sign('plain'), body, secret: 'plain', genuine: true },
  {
    headers: { ...sign('plain'), 'webhook-signature': `v1,b3RoZXI= ${sign('plain')['webhook-signature']}` },
    body,
    secret: 'plain',
    genuine: true,
  },
  { headers: sign('other'), body, secret: 'plain', genuine: false },
  { headers: sign('plain'), body: `${body} `, secret: 'plain', genuine: false },
  { headers: sign('plain', Date.now() - 600_000), body, secret: 'plain', genuine: false },
  { headers: {}, body, secret: 'plain', genuine: false },
];

/** Each program reads the deliveries as JSON from its input, and writes a line for each. */
const programs: Record<string, { file: string; text: string; run: string[] }> = {
  js: {
    file: 'check.mjs',
    text: `${block('js')}
import { readFileSync } from 'node:fs';
for (const { headers, body, secret } of JSON.parse(readFileSync(0, 'utf8')))
  console.log(isGenuine(headers, Buffer.from(body), secret));`,
    run: [process.execPath],
  },
  python: {
    file: 'check.py',
    text: `${block('python')}
import json, sys
for one in json.load(sys.stdin):
    print(is_genuine(one["headers"], one["body"].encode(), one["secret"]))`,
    run: ['python3'],
  },
  go: {
    file: 'check.go',
    text: `package main
${block('go').replace('import (', 'import (\n"encoding/json"\n"fmt"\n"os"')}
func main() {
	var all []struct { Headers map[string]string; Body, Secret string }
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil { panic(err) }
	for _, one := range all {
		headers := http.Header{}
		for name, value := range one.Headers { headers.Set(name, value) }
		fmt.Println(isGenuine(headers, []byte(one.Body), one.Secret))
	}
}`,
    run: ['go', 'run'],
  },
};

const isHere = (program: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
};

test.each(Object.entries(programs))(
  'the check of a signature in %s lets what is ours pass, and nothing else',
  (_language, { file, text, run: [program, ...options] }) => {
    if (!isHere(program!)) return;
    const { path, remove } = tempFolder();
    onTestFinished(remove);
    writeFileSync(join(path, file), text);
    const said = execFileSync(program!, [...options, join(path, file)], {
      input: JSON.stringify(deliveries),
      cwd: path,
    });
    const genuine = said
      .toString()
      .trim()
      .split('\n')
      .map((line) => line.toLowerCase() === 'true');
    expect(genuine).toEqual(deliveries.map((delivery) => delivery.genuine));
  },
  120_000,
);
