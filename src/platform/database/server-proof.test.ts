import { createServer, type Socket } from 'node:net';
import pg from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { connect, discard } from './connection.js';
import { DatabasePool } from './pool.js';
import { demandProof } from './server-proof.mjs';

const password = 'a-password-that-nobody-learns';

const message = (code: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5, code);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const authentication = (kind: number, rest: Buffer | string = ''): Buffer => {
  const body = Buffer.alloc(4);
  body.writeInt32BE(kind);
  return message('R', Buffer.concat([body, Buffer.from(rest)]));
};
const ready = message('Z', Buffer.from('I'));
const offer = authentication(10, 'SCRAM-SHA-256\0\0');
const challenge = (said: string): Buffer =>
  authentication(11, `r=${/r=([^,]+)/.exec(said)?.[1]}more,s=${Buffer.from('salt').toString('base64')},i=4096`);
const welcome = Buffer.concat([authentication(0), ready]);

/** Stands where a server was. Each thing that the client says gets the next answer; answers what it was told. */
async function impostor(
  answers: ((said: string) => Buffer)[],
  path?: string,
): Promise<{ url: string; said: () => string }> {
  const all: Buffer[] = [];
  const server = createServer((socket: Socket) => {
    let turn = 0;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      all.push(chunk);
      const answer = answers[turn++];
      if (answer) socket.write(answer(chunk.toString('latin1')));
    });
  });
  await new Promise<void>((resolve) => (path ? server.listen(path, resolve) : server.listen(0, '127.0.0.1', resolve)));
  onTestFinished(() => void server.close());
  const address = server.address();
  const host = typeof address === 'object' ? `127.0.0.1:${address?.port}` : '';
  return {
    url: `postgres://muster:${password}@${host}/postgres`,
    said: () => Buffer.concat(all).toString('latin1'),
  };
}

const tricks: { name: string; answers: ((said: string) => Buffer)[]; why: RegExp }[] = [
  { name: 'asks for it in clear text', answers: [() => authentication(3)], why: /in clear text.*SCRAM-SHA-256/ },
  { name: 'asks for an MD5 digest', answers: [() => authentication(5, 'salt')], why: /MD5 digest.*SCRAM-SHA-256/ },
  { name: 'lets everybody in', answers: [() => welcome], why: /no password, though one is given/ },
  {
    name: 'begins with SCRAM and then asks for it in clear text',
    answers: [() => offer, () => authentication(3)],
    why: /in clear text/,
  },
  { name: 'goes on after half of SCRAM', answers: [() => offer, challenge, () => welcome], why: /no password, though/ },
  {
    name: 'signs with something else',
    answers: [() => offer, challenge, () => Buffer.concat([authentication(12, 'v=AAAA'), welcome])],
    why: /signature does not match/,
  },
  {
    name: 'says everything at once',
    answers: [() => offer, (said) => Buffer.concat([challenge(said), authentication(12, 'v=AAAA'), welcome])],
    why: /SASL|no password, though/,
  },
];

describe('a program in the place of the server', () => {
  test.each(tricks)('that $name does not learn the password and is not believed', async ({ answers, why }) => {
    const { url, said } = await impostor(answers);
    await expect(connect(url, 'test', 2_000)).rejects.toThrow(why);
    await expect(new DatabasePool({ url, use: 'api', poolSize: 1 }).open()).rejects.toThrow(why);
    expect(said()).not.toContain(password);
    // "p": an answer to a question for the password. That of SCRAM shows nothing.
    expect(said()).not.toMatch(/p\0\0\0.(?:md5|a-password)/s);
  });

  test('is not believed by its path either', async () => {
    const { path, remove } = tempFolder();
    onTestFinished(remove);
    await impostor([() => welcome], `${path}/.s.PGSQL.5432`);
    const url = `postgres://muster:${password}@${encodeURIComponent(path)}:5432/postgres`;
    await expect(connect(url, 'test', 2_000)).rejects.toThrow(/no password, though one is given/);
  });
});

test('the server itself is believed, and one that asks for no password where none is given', async () => {
  const client = new pg.Client({ connectionString: inject('adminUrl') });
  demandProof(client);
  await client.connect();
  await client.end();
  const { url } = await impostor([() => welcome]);
  discard(await connect(url.replace(`:${password}`, ''), 'test', 2_000));
});
