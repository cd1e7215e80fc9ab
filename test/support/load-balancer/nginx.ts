import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { freePort } from '../../../src/platform/embedded-server/places.js';
import { tempFolder } from '../temp-folder.js';
import { waitFor } from '../wait-for.js';
import { Balancer, type ServingService } from './balancer.js';

/** Paths of services begin with letters; this one is asked which configuration answers. */
const versionPath = '/.version';
/** Answers in a row from the new configuration after which no process with the old one accepts connections any more. */
const surelyNew = 5;

/** A real proxy on a free loopback port, with everything it writes in a folder of its own. */
export class Nginx {
  private version = 0;

  private constructor(
    readonly port: number,
    private readonly folder: ReturnType<typeof tempFolder>,
    private readonly process: ChildProcess,
  ) {}

  static isInstalled(): boolean {
    return spawnSync('nginx', ['-v']).status === 0;
  }

  static async start(): Promise<Nginx> {
    const folder = tempFolder();
    const port = await freePort();
    const file = join(folder.path, 'nginx.conf');
    writeFileSync(file, configuration(folder.path, port, 0, new Map()));
    const log = join(folder.path, 'error.log');
    const child = spawn('nginx', ['-p', folder.path, '-c', file, '-e', log], { stdio: 'ignore' });
    const nginx = new Nginx(port, folder, child);
    await nginx.answersAs(0);
    return nginx;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when new connections go to these upstreams and to no others. */
  async serve(services: ReadonlyMap<string, ServingService>): Promise<void> {
    this.version += 1;
    const content = configuration(this.folder.path, this.port, this.version, services);
    writeFileSync(join(this.folder.path, 'nginx.conf'), content);
    this.process.kill('SIGHUP');
    await this.answersAs(this.version);
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null) {
      this.process.kill('SIGTERM');
      await once(this.process, 'exit');
    }
    this.folder.remove();
  }

  private async answersAs(version: number): Promise<void> {
    let inARow = 0;
    await waitFor(`nginx to answer with configuration ${version}`, async () => {
      inARow = (await this.answeringVersion()) === String(version) ? inARow + 1 : 0;
      return inARow === surelyNew;
    });
  }

  private async answeringVersion(): Promise<string | undefined> {
    try {
      const { body } = await request(`${this.url}${versionPath}`, { reset: true });
      return await body.text();
    } catch {
      return undefined;
    }
  }
}

/** A load balancer whose services a real proxy serves: SUCCESS means that traffic flows as it was told. */
export const balancerBefore = (nginx: Nginx): Balancer => {
  let last: Promise<void> = Promise.resolve();
  // One change after the other: each is told when its own configuration is in force.
  return new Balancer((services) => (last = last.catch(() => undefined).then(() => nginx.serve(services))));
};

function configuration(
  folder: string,
  port: number,
  version: number,
  services: ReadonlyMap<string, ServingService>,
): string {
  const temp = (name: string) => `${name}_temp_path ${join(folder, name)};`;
  const served = [...services].filter(([, { upstreams }]) => upstreams.length > 0);
  return `
daemon off;
worker_processes 1;
pid ${join(folder, 'nginx.pid')};
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 1024; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(temp).join('\n  ')}
  ${served.map(([id, service]) => upstreamBlock(id, service)).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location = ${versionPath} { return 200 "${version}"; }
    ${served.map(([id, service]) => `location ${service.basePath} { proxy_pass http://${id}; }`).join('\n    ')}
    location / { return 503; }
  }
}
`;
}

// An upstream that fails is told of by the test that runs it: nginx tries the next one, and this one again the next time.
const upstreamBlock = (id: string, { upstreams }: ServingService): string =>
  `upstream ${id} { ${upstreams.map(({ upstream }) => `server ${upstream} max_fails=0;`).join(' ')} }`;
