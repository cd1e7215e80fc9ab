import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hasBrowser } from '../../e2e/support/browser.js';

const artifact = 'com.hubspot:SingularityUI:1.5.0';

/** The files of the web UI as they were published. */
export interface PublishedUi {
  /** The `staticRoot` of its page. */
  staticFiles: string;
  /** A Mustache template: the server of the page fills in its settings. */
  template: string;
  /** Its program as browsers run it. */
  bundle: string;
  /** By which names the page finds its scripts and styles. */
  manifest: Record<string, string>;
}

/** By the ordinary client of its registry, unpacked into the folder. Undefined, and a line that says why: left out. */
export function fetchPublishedUi(folder: string): PublishedUi | undefined {
  const leftOut = (why: string): undefined => {
    console.log(`Tests of the published web UI in a browser are left out: ${why}`);
  };
  if (!hasBrowser) return leftOut('there is no browser');
  const options = ['-q', '-B', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`];
  const { error, status, stdout } = spawnSync('mvn', [...options, 'dependency:unpack'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 180_000,
  });
  if (error) return leftOut(`mvn does not start (${error.message})`);
  if (status !== 0) return leftOut(`mvn does not get ${artifact} (${/^\[ERROR\] (.*)$/m.exec(stdout)?.[1] ?? status})`);
  const staticFiles = join(folder, 'assets', 'static');
  const read = (name: string): string => readFileSync(join(staticFiles, name), 'utf8');
  const manifest = JSON.parse(read('rev-manifest.json')) as Record<string, string>;
  const views = join(folder, 'com', 'hubspot');
  const template = readdirSync(views, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('.mustache'));
  return {
    staticFiles,
    template: readFileSync(join(views, template!), 'utf8'),
    bundle: read(manifest['js/app.bundle.js']!),
    manifest,
  };
}

/** The page as the older installation answers it below this path, with these of its settings. */
export function pageOf({ template, manifest }: PublishedUi, base: string, settings: Record<string, unknown>): string {
  const values: Record<string, unknown> = {
    staticRoot: `${base}/static`,
    appRoot: `${base}/ui`,
    apiRoot: `${base}/api`,
    appCssPath: manifest['css/app.css'],
    appJsPath: manifest['js/app.bundle.js'],
    vendorJsPath: manifest['js/vendor.bundle.js'],
    title: 'The web UI of before',
    hideNewDeployButton: false,
    hideNewRequestButton: false,
    loadBalancingEnabled: false,
    defaultCpus: 1,
    defaultMemory: 64,
    defaultDisk: 0,
    defaultBounceExpirationMinutes: 60,
    defaultHealthcheckIntervalSeconds: 5,
    defaultHealthcheckTimeoutSeconds: 5,
    defaultHealthcheckMaxRetries: 0,
    defaultStartupTimeoutSeconds: 45,
    runningTaskLogPath: 'stdout',
    finishedTaskLogPath: 'stdout',
    commonHostnameSuffixToOmit: '',
    showTaskDiskResource: true,
    taskS3LogOmitPrefix: '',
    agentHttpPort: 5051,
    agentHttpsPort: null,
    warnIfScheduledJobIsRunningPastNextRunPct: 200,
    timestampFormat: 'lll Z',
    timestampWithSecondsFormat: 'lll:ss Z',
    shellCommands: '[]',
    shortenAgentUsageHostname: false,
    redirectOnUnauthorizedUrl: '',
    sentryDsn: '',
    generateAuthHeader: false,
    authCookieName: '',
    authTokenKey: 'token',
    quickLinks: '{}',
    navTitleLinks: null,
    lessTerminalPath: '',
    showRequestButtonsForGroup: '',
    costsApiUrlFormat: '',
    isDebug: false,
    extraScript: null,
    navColor: null,
    ...settings,
  };
  const valueOf = (name: string): unknown => {
    if (!(name in values)) throw new Error(`The page of the web UI asks for ${name}`);
    return values[name];
  };
  return template
    .replace(/\{\{([#^])(\w+)\}\}([\s\S]*?)\{\{\/\2\}\}/g, (_whole, kind: string, name: string, inside: string) =>
      Boolean(valueOf(name)) === (kind === '#') ? inside : '',
    )
    .replace(/\{\{\{?\s*(\w+)\s*\}?\}\}/g, (_whole, name: string) => String(valueOf(name)));
}
