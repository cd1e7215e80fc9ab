import 'reflect-metadata';
import { request as httpRequest } from 'node:http';
import { hostname } from 'node:os';
import { Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Body } from './inputs.js';
import { startHttpApp } from '../../../test/support/http-app.js';
import { type Settings, SettingsFile } from '../settings/settings.js';

let changes = 0;

@Controller()
class Rooms {
  @Get('api/names') names(): string[] {
    return ['a'];
  }
  @Post('api/names') @HttpCode(200) change(@Body() _body: object): string {
    changes++;
    return 'changed';
  }
}
@Module({ controllers: [Rooms] })
class TestModule {}

let app: NestExpressApplication;
let port: number;
async function start(settings: Record<string, unknown>, more = {}): Promise<void> {
  app = await startHttpApp(TestModule, settings, more);
  port = Number(new URL(await app.getUrl()).port);
}

interface Answer {
  status: number;
  code?: string;
}

/** Sends exactly the headers of a browser, or of a program: `fetch` of Node.js would choose some itself. */
function call(
  method: string,
  headers: Record<string, string | string[]>,
  body = method === 'POST' ? '{}' : '',
  path = '/api/names',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        setHost: false,
        headers: Object.entries({ 'content-length': String(body.length), ...headers }).flatMap(([name, values]) =>
          [values].flat().flatMap((value) => [name, value]),
        ),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => {
          const isJson = response.headers['content-type']?.startsWith('application/json') && text !== '';
          const parsed = isJson ? (JSON.parse(text) as { code?: string }) : {};
          resolve({ status: response.statusCode!, code: parsed.code });
        });
      },
    );
    sent.on('error', reject).end(body);
  });
}

const json = { 'content-type': 'application/json' };
const here = () => `127.0.0.1:${port}`;

describe('a service on loopback', () => {
  beforeAll(() =>
    start(
      { http: { allowedHosts: ['muster.example', '*.team.example', 'by-port.example:8443'] } },
      {
        advertisedUrl: 'https://advertised.example:8443',
        ui: { baseUrl: 'https://base.example/jobs' } as Settings['ui'],
      },
    ),
  );
  afterAll(() => app.close());

  test.each([
    'localhost',
    'LOCALHOST:1',
    'localhost.',
    'web.localhost',
    '127.0.0.1',
    '127.8.9.10:80',
    '[::1]',
    '[::1]:7099',
    'muster.example',
    'Muster.Example:443',
    'a.team.example',
    'a.b.team.example',
    'by-port.example',
    'advertised.example',
    'base.example',
  ])('answers to the name %s', async (host) => {
    expect((await call('GET', { host })).status).toBe(200);
  });

  test.each(
    [
      'evil.example',
      'evil.example:7099',
      'localhost.evil.example',
      'evillocalhost',
      'team.example',
      'evilteam.example',
      '127.0.0.1.evil.example',
      '10.1.2.3',
      '[::2]',
      '0.0.0.0',
      '',
      ' ',
      'localhost@evil.example',
      'evil.example/localhost',
      'localhost:',
      'localhost:port',
      '127.0.0.1 evil',
      'local_host..',
      `${hostname()}`,
    ].filter((host) => host !== 'localhost'),
  )('does not answer to the name %o', async (host) => {
    const before = changes;
    for (const method of ['GET', 'HEAD', 'POST']) expect((await call(method, { host, ...json })).status).toBe(421);
    expect(await call('POST', { host, ...json })).toEqual({ status: 421, code: 'UNKNOWN_HOST' });
    expect(changes).toBe(before);
  });

  test.each([
    'http://evil.example/api/names',
    'http://localhost@evil.example/api/names',
    'http://127.0.0.1.evil.example/api/names',
    'HTTPS://evil.example:7099/api/names',
    'http://[::2]/api/names',
    'http:///api/names',
  ])('does not answer to the name in the target %s either', async (path) => {
    const before = changes;
    for (const method of ['GET', 'POST']) {
      expect((await call(method, { host: 'localhost', ...json }, undefined, path)).status).toBe(421);
    }
    expect(changes).toBe(before);
  });

  test.each(['http://localhost/api/names', 'HTTP://Muster.Example:443/api/names', 'http://a@127.0.0.1/api/names'])(
    'answers to the name in the target %s',
    async (path) => {
      expect((await call('GET', { host: 'localhost' }, '', path)).status).toBe(200);
      expect((await call('GET', { host: 'evil.example' }, '', path)).status).toBe(421);
    },
  );

  test('does not guess which of two names is meant', async () => {
    expect(await call('POST', { host: ['localhost', 'evil.example'], ...json })).toEqual({
      status: 400,
      code: 'MALFORMED_CALL',
    });
  });

  const foreign: [string, () => Record<string, string>][] = [
    ['of another origin', () => ({ origin: 'https://evil.example' })],
    ['of another port of this machine', () => ({ origin: 'http://127.0.0.1:31000' })],
    ['of another name of this machine', () => ({ origin: `http://localhost:${port}` })],
    ['without an origin of its own', () => ({ origin: 'null' })],
    ['with an empty origin', () => ({ origin: '' })],
    ['of a file', () => ({ origin: 'file://' })],
    ['of an extension', () => ({ origin: `moz-extension://${here()}` })],
    ['whose origin looks like ours', () => ({ origin: `http://${here()}.evil.example` })],
    ['of another site, whose browser says no origin', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['of another port or sub-domain, whose browser says no origin', () => ({ 'sec-fetch-site': 'same-site' })],
  ];
  test.each(foreign)('a page %s changes nothing, and may ask', async (_what, headers) => {
    const before = changes;
    expect(await call('POST', { host: here(), ...json, ...headers() })).toEqual({
      status: 403,
      code: 'FOREIGN_ORIGIN',
    });
    expect(await call('DELETE', { host: here(), ...headers() })).toEqual({ status: 403, code: 'FOREIGN_ORIGIN' });
    expect(changes).toBe(before);
    expect((await call('GET', { host: here(), ...headers() })).status).toBe(200);
  });

  const own: [string, () => Record<string, string>][] = [
    ['a program', () => ({})],
    ['a page of the service', () => ({ origin: `http://${here()}`, 'sec-fetch-site': 'same-origin' })],
    ['a page of the service behind a proxy', () => ({ host: 'muster.example', origin: 'https://muster.example' })],
    [
      'a page behind a proxy that calls it by another name',
      () => ({ host: 'localhost', origin: 'https://advertised.example:8443' }),
    ],
    ['a page behind a proxy, by its port', () => ({ host: 'localhost', origin: 'https://by-port.example:8443' })],
    ['the address bar', () => ({ 'sec-fetch-site': 'none' })],
  ];
  test.each(own)('%s may change something', async (_what, headers) => {
    const before = changes;
    expect((await call('POST', { host: here(), ...json, ...headers() })).status).toBe(200);
    expect(changes).toBe(before + 1);
  });

  test.each<[string, Record<string, string>]>([
    ['no type', {}],
    ['an empty type', { 'content-type': '' }],
    ['the type of a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['the type of a form with files', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['the type of a text', { 'content-type': 'text/plain;charset=UTF-8' }],
    ['two types', { 'content-type': 'text/plain, application/json' }],
  ])('a body with %s is refused', async (_what, headers) => {
    const before = changes;
    expect(await call('POST', { host: here(), ...headers })).toEqual({ status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
    expect(changes).toBe(before);
  });

  test('a call without a body needs no type', async () => {
    expect((await call('POST', { host: here() }, '')).status).toBe(200);
  });
});

describe('where CORS allows an origin', () => {
  beforeAll(() => start({ cors: { enabled: true, allowedOrigins: ['https://friend.example'] } }));
  afterAll(() => app.close());

  test.each([
    ['https://friend.example', 200],
    ['https://friend.example.evil.example', 403],
    ['http://friend.example', 403],
    ['https://evil.example', 403],
  ])('%s gets %i', async (origin, status) => {
    expect((await call('POST', { host: here(), origin, ...json })).status).toBe(status);
  });
});

test('any origin, and credentials: the settings are refused', () => {
  for (const settings of [
    { cors: { enabled: true } },
    { enableCorsFilter: true },
    { cors: { enabled: true, allowedOrigins: ['https://a.example', '*'] } },
  ]) {
    const { error } = SettingsFile.safeParse(settings);
    expect(error?.issues.map(({ path, message }) => [path.join('.'), message])).toEqual([
      ['cors.allowedOrigins', expect.stringContaining('allowCredentials')],
    ]);
  }
  for (const cors of [
    { enabled: true, allowCredentials: false },
    { enabled: true, allowedOrigins: ['https://a.example'] },
    {},
  ]) {
    expect(SettingsFile.safeParse({ cors }).success).toBe(true);
  }
});

describe('a service on all addresses', () => {
  beforeAll(() => start({}, { host: '0.0.0.0' }));
  afterAll(() => app.close());

  test.each([
    [hostname(), 200],
    ['127.0.0.1', 200],
    ['evil.example', 421],
    ['10.1.2.3', 421],
  ])('answers to %s with %i', async (host, status) => {
    expect((await call('GET', { host })).status).toBe(status);
  });
});
