import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../free-port.js';
import { waitFor } from '../wait-for.js';

/** How a proxy of examples/discovered is started, and told that its file has changed. */
interface Kind {
  package: string;
  config: string;
  /** File that `muster endpoints` writes. */
  file: string;
  port: string;
  command: string[];
  reload: string;
}

const nginx = ['nginx', '-p', '.', '-c', 'nginx.conf', '-e', 'error.log'];
const kinds = {
  nginx: {
    package: 'nginx-light',
    config: 'nginx.conf',
    file: 'upstreams.conf',
    port: '8080',
    command: [...nginx, '-g', 'daemon off;'],
    reload: `${nginx.join(' ')} -s reload`,
  },
  haproxy: {
    package: 'haproxy',
    config: 'haproxy.cfg',
    file: 'backends.cfg',
    port: '8081',
    command: ['haproxy', '-W', '-p', 'haproxy.pid', '-f', 'haproxy.cfg', '-f', 'backends.cfg'],
    reload: 'haproxy -c -f haproxy.cfg -f backends.cfg && kill -USR2 $(cat haproxy.pid)',
  },
} satisfies Record<string, Kind>;
export type ProxyName = keyof typeof kinds;

/** False: tests with it are left out, unless tools are required. */
export function isInstalled(name: ProxyName): boolean {
  const isThere = spawnSync(name, ['-v']).status === 0;
  if (!isThere && process.env['MUSTER_TOOLS_REQUIRED'])
    throw new Error(`There must be ${name} (apt: ${kinds[name].package}): no test with it is left out here`);
  return isThere;
}

const example = (name: string): string =>
  readFileSync(new URL(`../../../examples/discovered/${name}`, import.meta.url), 'utf8');

/** A real proxy as its example has it, in a folder of its own and on a free port. */
export class ExampleProxy {
  private output = '';

  private constructor(
    readonly folder: string,
    readonly url: string,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text) => (this.output += String(text)));
  }

  /** The file that it reads has to be there; `service`: for which it stands in the example. */
  static async start(name: ProxyName, folder: string, service = 'discovered'): Promise<ExampleProxy> {
    const kind: Kind = kinds[name];
    const port = await freePort();
    const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path temp-${each};`);
    const isRoot = process.getuid?.() === 0;
    const config = example(kind.config)
      .replace(`:${kind.port}`, `:${port}`)
      .replaceAll(new RegExp(`(http://|default_backend )discovered`, 'g'), `$1${service}`)
      // Whoever runs the tests: files of their own, and not those of the package.
      .replace('http {', `http {\n  ${temp.join('\n  ')}`)
      .replace('events {}', isRoot ? 'user root;\nevents {}' : 'events {}');
    writeFileSync(join(folder, kind.config), config);
    const [program, ...words] = kind.command;
    const child = spawn(program!, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const proxy = new ExampleProxy(folder, `http://127.0.0.1:${port}/`, child);
    await waitFor(`${name} to listen`, () => {
      if (child.exitCode !== null) throw new Error(proxy.log());
      return fetch(proxy.url).then(() => existsSync(join(folder, `${name}.pid`)));
    });
    return proxy;
  }

  /** Name of the file that `muster endpoints` writes. */
  static fileOf = (name: ProxyName): string => kinds[name].file;
  static reloadOf = (name: ProxyName): string => kinds[name].reload;

  log(): string {
    const file = join(this.folder, 'error.log');
    return `${this.output}${existsSync(file) ? readFileSync(file, 'utf8') : ''}`;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }
}
