import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { tempFolder } from './temp-folder.js';
import { waitFor } from './wait-for.js';

const scrapeSeconds = 1;

/** A user for those that ask for one: the digest of the password, by bcrypt. */
export const prometheusUser = { name: 'muster', password: 'correct horse' };
const digest = '$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e';

/** A real Prometheus that reads the metrics of the addresses that it is told, each second. */
export class Prometheus {
  private program: ChildProcess | undefined;

  private constructor(
    readonly url: string,
    private readonly folder: ReturnType<typeof tempFolder>,
  ) {}

  static isInstalled(): boolean {
    const isThere = spawnSync('prometheus', ['--version']).status === 0;
    if (!isThere && process.env.MUSTER_TOOLS_REQUIRED)
      throw new Error('There must be prometheus (apt: prometheus): no test with it is left out here');
    return isThere;
  }

  /** `asksForUser`: it answers only the user above. */
  static async start({ asksForUser = false } = {}): Promise<Prometheus> {
    const folder = tempFolder();
    const prometheus = new Prometheus(`http://127.0.0.1:${await freePort()}`, folder);
    const scrapes = {
      job_name: 'tasks',
      scrape_interval: `${scrapeSeconds}s`,
      file_sd_configs: [{ files: [join(folder.path, 'targets.json')], refresh_interval: '1s' }],
    };
    // JSON is YAML as well.
    writeFileSync(join(folder.path, 'prometheus.yml'), JSON.stringify({ scrape_configs: [scrapes] }));
    const users = asksForUser ? { basic_auth_users: { [prometheusUser.name]: digest } } : {};
    writeFileSync(join(folder.path, 'web.yml'), JSON.stringify(users));
    prometheus.scrape([]);
    await prometheus.run();
    return prometheus;
  }

  /** Addresses, as host:port, whose /metrics are read from now on. */
  scrape(targets: readonly string[]): void {
    const file = join(this.folder.path, 'targets.json');
    writeFileSync(`${file}.new`, JSON.stringify([{ targets }]));
    renameSync(`${file}.new`, file);
  }

  /** It takes connections and answers nothing, until it goes on. */
  freeze(isFrozen: boolean): void {
    this.program?.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT');
  }

  async stop(): Promise<void> {
    const { program } = this;
    this.program = undefined;
    if (!program) return;
    const ended = once(program, 'exit');
    program.kill('SIGKILL');
    await ended;
  }

  async close(): Promise<void> {
    await this.stop();
    this.folder.remove();
  }

  private async run(): Promise<void> {
    const { path } = this.folder;
    this.program = spawn(
      'prometheus',
      [
        `--config.file=${join(path, 'prometheus.yml')}`,
        `--web.config.file=${join(path, 'web.yml')}`,
        `--storage.tsdb.path=${join(path, 'data')}`,
        `--web.listen-address=${new URL(this.url).host}`,
        '--log.level=error',
      ],
      { stdio: 'ignore' },
    );
    const authorization = `Basic ${btoa(`${prometheusUser.name}:${prometheusUser.password}`)}`;
    await waitFor(
      'Prometheus to be ready',
      async () => {
        // Others are answered 401 before it is ready.
        const answer = await fetch(`${this.url}/-/ready`, { headers: { authorization } }).catch(() => undefined);
        return answer?.ok;
      },
      { timeoutMillis: 30_000 },
    );
  }
}
