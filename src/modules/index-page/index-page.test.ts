import { mkdirSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { testSettings } from '../../../test/support/test-settings.js';
import { SettingsFile, type Settings } from '../../platform/settings/settings.js';
import { DashboardFiles } from './dashboard-files.js';
import { GuideFiles } from './guide-files.js';
import type { IndexViewDto } from './dto/index-view.dto.js';
import { IndexPageModule } from './index-page.module.js';
import { renderPage, toIndexView } from './page.service.js';

const assets = { appJsPath: 'app.1.js', appCssPath: 'app.1.css', vendorJsPath: 'vendor.1.js' };

/** A dashboard as the build makes it, of few lines. */
function builtDashboard(): { folder: string; remove: () => void } {
  const { path: folder, remove } = tempFolder();
  const long = (text: string): string => `/* ${text.repeat(200)} */`;
  const files = {
    'app.a1.js': long('the page'),
    'vendor.b2.js': long('what it is made of'),
    'style.c3.css': long('its styles'),
    'task-page.d4.js': long('a further page'),
  };
  mkdirSync(join(folder, '.vite'));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(text));
  }
  const manifest = {
    'src/main.tsx': {
      file: 'app.a1.js',
      name: 'main',
      isEntry: true,
      imports: ['_vendor.b2.js'],
      css: ['style.c3.css'],
    },
    '_vendor.b2.js': { file: 'vendor.b2.js', name: 'vendor' },
    'src/pages/task/task-page.tsx': { file: 'task-page.d4.js', name: 'task-page', imports: ['_vendor.b2.js'] },
    'style.css': { file: 'style.c3.css' },
  };
  writeFileSync(join(folder, '.vite', 'manifest.json'), JSON.stringify(manifest));
  return { folder, remove };
}
const dashboard = builtDashboard();
afterAll(dashboard.remove);

/** A guide as the build makes it, of few lines. */
function builtGuide(): { folder: string; remove: () => void } {
  const { path: folder, remove } = tempFolder();
  for (const name of ['assets', 'images', 'internals']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'images/list.webp'), 'a picture');
  for (const name of [
    'index.html',
    'settings.html',
    'internals/rules.html',
    'assets/page.a1.js',
    'assets/search.b2.json',
  ]) {
    writeFileSync(join(folder, name), `${name}, `.repeat(100));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(`${name}, `.repeat(100)));
  }
  writeFileSync(join(folder, '.source-hash'), 'x');
  return { folder, remove };
}
const guide = builtGuide();
afterAll(guide.remove);

const viewWith = (file: Record<string, unknown>): IndexViewDto =>
  toIndexView({ ...testSettings(), ...SettingsFile.parse(file) }, assets);

describe('IndexView', () => {
  test('has all of its fields as they are by default', () => {
    expect(viewWith({})).toEqual({
      appRoot: '/ui',
      apiDocs: '/docs',
      guideRoot: '/guide',
      staticRoot: '/static',
      apiRoot: '/api',
      navColor: '',
      defaultMemory: 64,
      defaultCpus: 1,
      defaultDisk: 0,
      hideNewDeployButton: false,
      hideNewRequestButton: false,
      loadBalancingEnabled: false,
      title: 'Muster',
      slaveHttpPort: 5051,
      defaultBounceExpirationMinutes: 60,
      defaultHealthcheckIntervalSeconds: 5,
      defaultHealthcheckTimeoutSeconds: 5,
      defaultHealthcheckMaxRetries: 0,
      defaultStartupTimeoutSeconds: 45,
      runningTaskLogPath: 'stdout',
      finishedTaskLogPath: 'stdout',
      commonHostnameSuffixToOmit: '',
      taskS3LogOmitPrefix: '',
      warnIfScheduledJobIsRunningPastNextRunPct: 200,
      shellCommands: '[]',
      shortenSlaveUsageHostname: false,
      timestampFormat: 'lll Z',
      showTaskDiskResource: true,
      timestampWithSecondsFormat: 'lll:ss Z',
      redirectOnUnauthorizedUrl: '',
      extraScript: '',
      generateAuthHeader: false,
      authCookieName: 'muster',
      authTokenKey: 'token',
      quickLinks: '{}',
      navTitleLinks: '[]',
      lessTerminalPath: '',
      ...assets,
    });
  });

  const links = [{ title: 'East', linkFormat: 'https://east.example/ui/{CURRENT_PATH}', tooltip: 'the other one' }];
  const quick = { request: { ALL: [{ title: 'Logs', linkFormat: 'https://logs/{{request.id}}' }] } };
  const command = { name: 'jstack', description: 'threads', options: [] };
  test.each<[Record<string, unknown>, Partial<IndexViewDto>]>([
    [{ ui: { path: 'dash/board' } }, { appRoot: '/dash/board' }],
    [
      {
        auth: {
          enabled: true,
          oidc: { issuer: 'https://login.example', clientId: 'muster', signInLabel: 'With ACME' },
        },
        http: { contextPath: '/east' },
      },
      { signInUrl: '/east/api/auth/oidc/sign-in', signInLabel: 'With ACME' },
    ],
    [
      { ui: { baseUrl: 'https://muster.example/east/' } },
      {
        appRoot: '/east/ui',
        apiDocs: '/east/docs',
        staticRoot: '/east/static',
        apiRoot: '/east/api',
      },
    ],
    [{ ui: { apiDocs: '/d', apiRoot: '/a', staticRoot: '/s' } }, { apiDocs: '/d', apiRoot: '/a', staticRoot: '/s' }],
    [{ ui: { navColor: 'green', title: 'East' } }, { navColor: 'green', title: 'East' }],
    [
      { cluster: { defaultMemory: 99.5, defaultCpus: 0.5, defaultDisk: 7 } },
      { defaultMemory: 100, defaultCpus: 1, defaultDisk: 7 },
    ],
    [
      { ui: { hideNewDeployButton: true, hideNewRequestButton: true } },
      { hideNewDeployButton: true, hideNewRequestButton: true },
    ],
    [{ loadBalancerUri: 'http://balancer:80' }, { loadBalancingEnabled: true }],
    [{ cluster: { local: { files: { readToken: 'for-those-who-read', port: 81 } } } }, { slaveHttpPort: 81 }],
    [{ ui: { slaveHttpPort: 80, slaveHttpsPort: 443 } }, { slaveHttpPort: 80, slaveHttpsPort: 443 }],
    [{ defaultBounceExpirationMinutes: 5 }, { defaultBounceExpirationMinutes: 5 }],
    [
      {
        healthcheckIntervalSeconds: 1,
        healthcheckTimeoutSeconds: 2,
        healthcheckMaxRetries: 3,
        startupTimeoutSeconds: 4,
      },
      {
        defaultHealthcheckIntervalSeconds: 1,
        defaultHealthcheckTimeoutSeconds: 2,
        defaultHealthcheckMaxRetries: 3,
        defaultStartupTimeoutSeconds: 4,
      },
    ],
    [
      { ui: { runningTaskLogPath: 'r', finishedTaskLogPath: 'f', taskS3LogOmitPrefix: 'p' } },
      { runningTaskLogPath: 'r', finishedTaskLogPath: 'f', taskS3LogOmitPrefix: 'p' },
    ],
    [{ commonHostnameSuffixToOmit: '.local' }, { commonHostnameSuffixToOmit: '.local' }],
    [{ warnIfScheduledJobIsRunningPastNextRunPct: 150 }, { warnIfScheduledJobIsRunningPastNextRunPct: 150 }],
    [{ ui: { shellCommands: [command] } }, { shellCommands: JSON.stringify([command]) }],
    [
      { ui: { shortenSlaveUsageHostname: true, showTaskDiskResource: false } },
      { shortenSlaveUsageHostname: true, showTaskDiskResource: false },
    ],
    [
      { ui: { timestampFormat: 'a', timestampWithSecondsFormat: 'b' } },
      { timestampFormat: 'a', timestampWithSecondsFormat: 'b' },
    ],
    [
      { ui: { redirectOnUnauthorizedUrl: 'https://login?to={URL}', extraScript: '/static/more.js' } },
      { redirectOnUnauthorizedUrl: 'https://login?to={URL}', extraScript: '/static/more.js' },
    ],
    [
      { ui: { generateAuthHeader: true, authCookieName: 'who', authTokenKey: 'key' } },
      { generateAuthHeader: true, authCookieName: 'who', authTokenKey: 'key' },
    ],
    [
      { ui: { quickLinks: quick, navTitleLinks: links, lessTerminalPath: '$HOST/$TASK' } },
      { quickLinks: JSON.stringify(quick), navTitleLinks: JSON.stringify(links), lessTerminalPath: '$HOST/$TASK' },
    ],
  ])('%j says so', (file, fields) => {
    expect(viewWith(file)).toMatchObject(fields);
  });

  test.each([
    { path: 'api' },
    { path: 'docs/ui' },
    { path: 'guide' },
    { path: '/ui' },
    { path: 'ui?' },
    { navColor: 'red blue' },
    { extraScript: 'javascript:alert(1)' },
    { apiDocs: '//elsewhere' },
    { navTitleLinks: [{ title: 'x', linkFormat: 'javascript:alert(1)' }] },
  ])('%j is refused at the start', (ui) => {
    expect(SettingsFile.safeParse({ ui }).success).toBe(false);
  });
});

test('nothing that the settings say becomes markup, and nothing ends the data early', () => {
  const title = `</title></script><script>alert("1'&")</script><!--\u2028`;
  const page = renderPage(viewWith({ ui: { title, lessTerminalPath: title } }), []);
  expect(page).toContain('<title>&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(&quot;1&#39;&amp;&quot;)');
  expect(page.match(/<script\b/g)).toHaveLength(2);
  expect(page).not.toContain('<!--');
  expect(embeddedView(page)).toMatchObject({ title, lessTerminalPath: title });
});

test('a further script is loaded like the others, never written into the page', () => {
  const page = renderPage(viewWith({ ui: { extraScript: '/static/more.js?a&b' } }), []);
  expect(page).toContain('<script defer src="/static/more.js?a&amp;b"></script>');
});

test('without a dashboard that was built the page says so, and leads to the documents', () => {
  const { names, imports } = new DashboardFiles(undefined);
  const page = renderPage({ ...viewWith({}), ...names }, imports);
  expect(page).toContain('The dashboard is not built');
  expect(page.match(/<script\b/g)).toHaveLength(1);
});

test('a guide that was not built has no page', () => {
  for (const folder of [undefined, join(guide.folder, 'none')]) {
    const files = new GuideFiles(folder);
    expect([files.isBuilt, files.find('index.html')]).toEqual([false, undefined]);
  }
});

const embeddedView = (page: string): IndexViewDto =>
  JSON.parse(/<script type="application\/json" id="index-view">(.*?)<\/script>/s.exec(page)![1]!) as IndexViewDto;

describe('in the browser', () => {
  let rooms: RoomApp;
  const ui = { ...testSettings().ui, path: 'dash/board', title: 'East' };
  beforeAll(async () => {
    const modules = [IndexPageModule.at(ui.path, { dashboard: dashboard.folder, guide: guide.folder })];
    rooms = await startRooms({ modules, settings: { ui } satisfies Partial<Settings> });
  });
  afterAll(() => rooms.close());
  const raw = (path: string, init: RequestInit = {}) => fetch(rooms.url + path, { redirect: 'manual', ...init });

  test.each(['/dash/board', '/dash/board/', '/dash/board/request/web', '/dash/board/task/a-b/files/x.log?y=1'])(
    '%s answers the page',
    async (path) => {
      const response = await raw(path);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(response.headers.get('cache-control')).toBe('no-cache');
      expect(response.headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
      const page = await response.text();
      expect(page).toContain('<title>East</title>');
      expect(page).toContain('<a href="/docs">Swagger UI</a>');
      expect(embeddedView(page)).toMatchObject({ appRoot: '/dash/board', title: 'East' });
    },
  );

  test('HEAD answers without the page', async () => {
    const response = await raw('/dash/board', { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  test('/ leads to the page', async () => {
    const response = await raw('/');
    expect([response.status, response.headers.get('location')]).toEqual([302, '/dash/board']);
  });

  test.each([
    '/ui',
    '/dash',
    '/dash/boards',
    '/nowhere',
    '/static/app.js',
    '/static/../index-page.module.ts',
    '/static',
  ])('%s is 404 in the shape of errors', async (path) => {
    const response = await raw(path);
    expect([response.status, await response.json()]).toMatchObject([404, { status: 404, code: 'NOT_FOUND' }]);
  });

  test('other methods are 405 with what is allowed', async () => {
    const response = await raw('/dash/board/anything', { method: 'POST' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('scripts and styles come from this origin only, none is in the page, and no page frames it', async () => {
    const response = await raw('/dash/board');
    const policy = response.headers.get('content-security-policy')!;
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]),
    );
    expect(policy).not.toContain('unsafe');
    const page = await response.text();
    for (const script of page.match(/<script[^>]*>/g)!)
      expect(script).toMatch(/src="\/static\/|type="application\/json"/);
    expect(page).not.toContain('style=');
  });

  test('its files are those that IndexView names, asked for at once, to be kept for ever', async () => {
    const page = await (await raw('/dash/board')).text();
    const { staticRoot, appJsPath, appCssPath, vendorJsPath } = embeddedView(page);
    expect([appJsPath, vendorJsPath, appCssPath]).toEqual(['app.a1.js', 'vendor.b2.js', 'style.c3.css']);
    expect(page).toContain(`<script type="module" src="${staticRoot}/app.a1.js">`);
    expect(page).toContain(`<link rel="modulepreload" href="${staticRoot}/vendor.b2.js">`);
    expect(page).toContain(`<link rel="stylesheet" href="${staticRoot}/style.c3.css">`);
    for (const [name, type] of [
      ['app.a1.js', 'text/javascript'],
      ['task-page.d4.js', 'text/javascript'],
      ['style.c3.css', 'text/css'],
    ] as const) {
      const file = await raw(`${staticRoot}/${name}`);
      expect([file.status, file.headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`]);
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect((await file.text()).length).toBeGreaterThan(500);
    }
  });

  /** The answer as it comes, which fetch would unpack. */
  const packed = (
    encoding: string,
    path = '/static/app.a1.js',
  ): Promise<{ headers: Record<string, unknown>; body: Buffer }> =>
    new Promise((resolve, reject) => {
      const call = httpRequest(`${rooms.url}${path}`, { headers: { 'Accept-Encoding': encoding } }, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('end', () => resolve({ headers: answer.headers, body: Buffer.concat(pieces) }));
      });
      call.on('error', reject).end();
    });

  test.each([
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', undefined],
  ])('Accept-Encoding %s is answered by %s', async (accepted, encoding) => {
    const { headers, body } = await packed(accepted);
    expect(headers['content-encoding']).toBe(encoding);
    expect(headers['vary']).toContain('Accept-Encoding');
    if (encoding === 'br') expect(brotliDecompressSync(body).toString()).toContain('the page');
  });

  test('/guide leads to the first page of the guide, below which all addresses are relative', async () => {
    const moved = await raw('/guide');
    expect([moved.status, moved.headers.get('location')]).toEqual([302, '/guide/']);
    const page = await raw('/guide/');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toContain('index.html, ');
    expect((await raw('/guide/', { method: 'POST' })).status).toBe(405);
  });

  test.each([
    ['settings.html', 'text/html; charset=utf-8', 'no-cache'],
    ['internals/rules.html', 'text/html; charset=utf-8', 'no-cache'],
    ['assets/page.a1.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['assets/search.b2.json', 'application/json; charset=utf-8', 'public, max-age=31536000, immutable'],
  ])('/guide/%s is %s, kept as %s, and runs nothing but its own script', async (name, type, caching) => {
    const { status, headers } = await raw(`/guide/${name}`);
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([200, type, caching]);
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*script-src 'self'; style-src 'self'/);
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
    const { headers: packedHeaders, body } = await packed('gzip', `/guide/${name}`);
    expect(packedHeaders['content-encoding']).toBe('gzip');
    expect(gunzipSync(body).toString()).toContain(`${name}, `);
  });

  test('/guide/images/list.webp is a picture, which is not packed again', async () => {
    const { headers, body } = await packed('gzip', '/guide/images/list.webp');
    expect([headers['content-type'], headers['content-encoding']]).toEqual(['image/webp', undefined]);
    expect(body.toString()).toBe('a picture');
  });

  test.each([
    'none.html',
    'settings.html.gz',
    '.source-hash',
    'assets',
    'assets/',
    '..%2Findex-page.test.ts',
    '%2e%2e/%2e%2e/package.json',
    'internals/..%2Fsettings.html',
    'internals//rules.html',
    '%00',
    encodeURIComponent(join(guide.folder, 'settings.html')),
  ])('/guide/%s is no page of the guide', async (path) => expect((await raw(`/guide/${path}`)).status).toBe(404));

  test.each(['/static/app.a1.js.br', '/static/manifest.json', '/static/.vite', '/static/..%2Fmanifest.json'])(
    '%s is no file of the page',
    async (path) => expect((await raw(path)).status).toBe(404),
  );
});

describe('ui.rootUrlMode', () => {
  let rooms: RoomApp;
  const startIn = async (rootUrlMode: Settings['ui']['rootUrlMode']) => {
    const ui = { ...testSettings().ui, rootUrlMode };
    rooms = await startRooms({
      modules: [IndexPageModule.at(ui.path, { dashboard: dashboard.folder, guide: guide.folder })],
      settings: { ui },
    });
  };
  afterEach(() => rooms.close());
  const answer = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(rooms.url + path, { redirect: 'manual', ...init });
    const text = await response.text();
    return { status: response.status, isPage: text.includes('id="index-view"'), headers: response.headers };
  };

  test('INDEX_CATCHALL: / and every unknown path answer the page, but none of those that are for programs', async () => {
    await startIn('INDEX_CATCHALL');
    for (const path of ['/', '/request/web', '/tasks/active/all', '/ui', '/ui/request/web', '/apis'])
      expect(await answer(path), path).toMatchObject({ status: 200, isPage: true });
    expect((await answer('/request/web')).headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await answer('/request/web', { method: 'HEAD' })).toMatchObject({ status: 200, isPage: false });
    for (const path of ['/api', '/api/nothing', '/static/nothing.js', '/docs/nothing', '/metrics/x', '/healthz/x'])
      expect(await answer(path), path).toMatchObject({ status: 404, isPage: false });
    expect((await answer('/request/web', { method: 'POST' })).status).toBe(405);
  });

  test('DISABLED: there is nothing at /, and the page where ui.path says', async () => {
    await startIn('DISABLED');
    expect(await answer('/')).toMatchObject({ status: 404, isPage: false });
    expect(await answer('/request/web')).toMatchObject({ status: 404, isPage: false });
    expect(await answer('/ui/request/web')).toMatchObject({ status: 200, isPage: true });
  });

  test('UI_REDIRECT, the default: / leads to the page, and unknown paths are 404', async () => {
    await startIn(testSettings().ui.rootUrlMode);
    const root = await answer('/');
    expect([root.status, root.headers.get('location')]).toEqual([302, '/ui']);
    expect((await answer('/request/web')).status).toBe(404);
  });
});
