import { readFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { settingsOfAgent } from '../../../../src/agent/settings.js';
import { LocalDriver } from '../../../../src/cluster/local/local-driver.js';
import { entities } from '../../../../src/entities.js';
import { HandOver } from './hand-over.service.js';
import { ImportItemEntity } from './import-item.entity.js';
import { ImportModule } from './import.module.js';
import { ImportReport } from './import-report.js';
import { Imports } from './import.service.js';
import { OriginalApi } from './original-api.js';
import { StartError } from '../../../../src/platform/errors.js';
import { PinoLogger } from '../../../../src/platform/logging/log.js';
import { PlatformModule } from '../../../../src/platform/platform.module.js';
import { logStoreOf } from '../../../../src/platform/settings/log-store-settings.js';
import type { Settings } from '../../../../src/platform/settings/settings.js';
import { Notifier } from '../../../../src/platform/wake/notifier.js';
import { RepositoriesModule } from '../../../../src/repositories.module.js';
import { AgentProcess } from '../../../../src/cli/server/agent-process.js';
import { say } from '../../../../src/cli/server/announce.js';
import { openToImport, openToLook } from './open-database.js';
import { reportFailure } from '../../../../src/cli/server/report-failure.js';
import { StopSequence } from '../../../../src/cli/server/stop-sequence.js';

/** As commander hands them over. */
export interface ImportFlags {
  dryRun?: boolean;
  /** false: --no-history. */
  history?: boolean;
  header?: string[];
  token?: string;
  concurrency?: string;
  timeout?: string;
  activate?: string;
  pauseSource?: boolean;
  sideBySide?: boolean;
  wait?: string;
}

/** Bounds of flags with numbers, in the unit of the flag. */
const bounds = {
  concurrency: { least: 1, most: 32, usual: 4 },
  timeout: { least: 1, most: 600, usual: 30 },
  wait: { least: 0, most: 86_400, usual: 120 },
};
const progressEveryMillis = 5_000;

/**
 * Takes what another installation of the same API has, through that API. Works beside a Muster that runs, and without one; may
 * be repeated, and goes on where it was ended. Answers the exit code.
 */
export async function importFrom(settings: Settings, url: string, flags: ImportFlags): Promise<number> {
  const logger = new PinoLogger(settings.log);
  Logger.overrideLogger(logger);
  const stop = new StopSequence(['import', 'source', 'database']);
  stop.listen();
  await stop.start(async (checkpoint) => {
    const { options, wishes } = read(url, flags);
    const original = new OriginalApi(options);
    stop.add({ name: 'source', inOrder: () => original.close() });
    // Before anything is started for it.
    await original.list('requests/active');
    const databaseUrl = flags.dryRun ? await openToLook(settings, stop) : await openToImport(settings, stop);
    checkpoint();
    const app = await openRooms({ ...settings, databaseUrl }, logger);
    stop.add({ name: 'import', inOrder: () => app.close() });
    const report = new ImportReport(say);
    const run = { original, report, dryRun: flags.dryRun ?? false };
    if (wishes.pattern !== undefined) {
      const { pattern } = wishes;
      const { done, left } = await app.get(HandOver).run(run, { ...wishes, pattern, say, progress: checkpoint });
      say(`${done} ${run.dryRun ? 'would be handed over' : 'handed over'}, ${left} stay held`);
      if (done + left === 0) say(`No request that is held matches '${pattern}'`);
      return;
    }
    let toldAt = performance.now();
    const progress = (done: number, all: number): void => {
      checkpoint();
      if (performance.now() - toldAt < progressEveryMillis) return;
      toldAt = performance.now();
      say(`${done} of ${all} requests`);
    };
    await app.get(Imports).run(run, { atOnce: wishes.atOnce, withHistory: flags.history ?? true, progress });
    report.close(`${run.dryRun ? 'Would be taken' : 'Taken'} from ${original.address}:`);
    if (run.dryRun) return;
    const held = await app.get(Imports).heldIds();
    if (held.length > 0) say(`${held.length} requests are held: import-from ... --activate <pattern> hands them over`);
  }, reportFailure);
  // After a failure it runs already, with the exit code of that.
  void stop.run(0, () => undefined);
  return stop.stopped;
}

function read(url: string, flags: ImportFlags) {
  const concurrency = number('concurrency', flags.concurrency);
  if (flags.activate === undefined && (flags.pauseSource || flags.sideBySide)) {
    throw new StartError('--pause-source and --side-by-side belong to --activate');
  }
  if (flags.pauseSource && flags.sideBySide) throw new StartError('Either --pause-source or --side-by-side');
  return {
    options: { url, headers: headersOf(flags), concurrency, timeoutMillis: number('timeout', flags.timeout) * 1_000 },
    wishes: {
      pattern: flags.activate,
      pauseSource: flags.pauseSource ?? false,
      sideBySide: flags.sideBySide ?? false,
      waitMillis: number('wait', flags.wait) * 1_000,
      atOnce: concurrency,
    },
  };
}

function number(name: keyof typeof bounds, given: string | undefined): number {
  const { least, most, usual } = bounds[name];
  if (given === undefined) return usual;
  const value = /^\d{1,9}$/.test(given) ? Number(given) : NaN;
  if (value >= least && value <= most) return value;
  throw new StartError(`--${name} must be a whole number from ${least} to ${most}`);
}

/**
 * Headers of the calls. A secret may stand in a file, where other users of the machine do not see it: @file in place of
 * the value.
 */
function headersOf({ header = [], token }: ImportFlags): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of header.map(fromFile)) {
    const [, name, value] = /^([!#$%&'*+.^`|~\w-]+):[ \t]*([\x20-\x7e]*)$/.exec(line) ?? [];
    // Not the value: it may be a secret.
    if (name === undefined || value === undefined) throw new StartError(`--header must be 'Name: value'`);
    headers[name.toLowerCase()] = value;
  }
  if (token === undefined) return headers;
  const text = fromFile(token);
  if (!/^[\x21-\x7e]+$/.test(text)) throw new StartError('--token must be one word of printable characters');
  return { ...headers, authorization: `Bearer ${text}` };
}

function fromFile(given: string): string {
  if (!given.startsWith('@')) return given;
  try {
    return readFileSync(given.slice(1), 'utf8').trim();
  } catch (cause) {
    throw new StartError(`Cannot read ${given.slice(1)}: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}

/** The rooms that the import writes through. They lead nothing and listen nowhere. */
async function openRooms(settings: Settings & { databaseUrl: string }, logger: PinoLogger) {
  const { cluster, dataDir } = settings;
  const agent = new AgentProcess({ dataDir, localSettings: settingsOfAgent(settings, logStoreOf(settings)), say });
  const { allowedArtifactPaths, containers } = cluster.local;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  // Only asked what it can run.
  const driver = new LocalDriver({ now: () => 0, agentDirectory: agent.folder, log, allowedArtifactPaths, containers });
  class Rooms {}
  const platform = PlatformModule.forRoot({ settings, driver, entities: [...entities, ImportItemEntity] });
  const imports = [platform, RepositoriesModule, ImportModule];
  const app = await NestFactory.createApplicationContext({ module: Rooms, imports }, { logger, abortOnError: false });
  // What waits for the leader is told to it at once.
  app.get(Notifier).start();
  return app;
}
