import { type Command, Option } from 'commander';
import type { Flags } from '../../platform/settings/load-settings.js';
import type { Settings } from '../../platform/settings/settings.js';
import { type Define, examples } from '../run.js';
import { serving } from './serving.js';

type ServeFlags = Flags & { replace?: boolean; reports?: boolean; join?: string; newDatabase?: boolean };

const listening = (command: Command): Command =>
  command
    .addOption(new Option('--port <port>', 'HTTP port (MUSTER_PORT)'))
    .addOption(new Option('--host <host>', 'address to listen on (MUSTER_HOST)'));

const keepTasks = (command: Command): Command =>
  command
    .option('--keep-tasks', 'keep agent and tasks running when this process stops (MUSTER_KEEP_TASKS)')
    .option('--no-keep-tasks', 'stop them, whatever the settings say');

export const serve: Record<string, Define> = {
  start: (command, run) => {
    const work = async (settings: Settings): Promise<number> => {
      const { runScheduler } = await import('../server/run-scheduler.js');
      return runScheduler(settings, { withAgent: true, keepTasks: settings.agent.keepTasks });
    };
    examples(keepTasks(listening(serving(command, run, work))), 'muster start --port 7100 --data-dir /var/lib/muster');
  },
  demo: (command, run) => {
    const work = async (settings: Settings): Promise<number> => {
      const { runScheduler } = await import('../server/run-scheduler.js');
      const { deployExamples } = await import('../server/demo.js');
      return runScheduler(settings, { withAgent: true, keepTasks: settings.agent.keepTasks, ready: deployExamples });
    };
    examples(keepTasks(listening(serving(command, run, work))), 'muster demo');
  },
  scheduler: (command, run) => {
    const work = async (settings: Settings, flags: ServeFlags): Promise<number> => {
      const { runScheduler } = await import('../server/run-scheduler.js');
      const options = { withAgent: false, keepTasks: true };
      if (flags.join === undefined) {
        const { confirmNewDatabase } = await import('../server/new-database.js');
        await confirmNewDatabase(settings, flags.newDatabase ?? false);
        return runScheduler(settings, options);
      }
      const { joining, sayWhoseDatabase } = await import('../server/join.js');
      const joined = await joining(settings, flags.join);
      const isPortGiven = flags.port !== undefined || !!run.environment['MUSTER_PORT'];
      // The one of the settings is that of the joined; the system gives no port twice, however many join at once.
      const port = isPortGiven ? joined.port : 0;
      // The variable may be that of the one that is joined.
      const instanceDir = flags.dataDir === undefined ? undefined : settings.dataDir;
      const ready = settings.databaseUrl === undefined ? sayWhoseDatabase : undefined;
      return runScheduler({ ...joined, port }, { ...options, instanceDir, ready });
    };
    listening(serving(command, run, work))
      .option(
        '--join <place>',
        'share the database and the agent of a running Muster, given by its data directory or URL',
      )
      .option('--new-database', 'create a missing database without asking');
    examples(command, 'muster scheduler --join /var/lib/muster', 'muster scheduler --port 7101');
  },
  agent: (command, run) => {
    const work = async (settings: Settings): Promise<number> => {
      const { runAgent } = await import('../server/run-agent.js');
      return runAgent(settings);
    };
    examples(serving(command, run, work), 'muster agent --data-dir /var/lib/muster');
  },
  stop: (command, run) => {
    const work = async (settings: Settings): Promise<number> => {
      const { stopRunning } = await import('../server/stop-running.js');
      return stopRunning(settings.dataDir);
    };
    examples(serving(command, run, work), 'muster stop');
  },
  'database-url': (command, run) => {
    const work = async (settings: Settings): Promise<number> => {
      const { showDatabaseUrl } = await import('../server/show-database-url.js');
      return showDatabaseUrl(settings);
    };
    examples(serving(command, run, work), 'muster database-url');
  },
  psql: (command, run) => {
    const work = async (settings: Settings, flags: ServeFlags, [words]: string[]): Promise<number> => {
      const { openPsql } = await import('../server/open-psql.js');
      return openPsql(settings, flags.reports ?? false, [words ?? []].flat());
    };
    command.argument('[words...]', 'arguments for psql, after --');
    serving(command, run, work).option('--reports', 'connect as a user who can only read the views for reports');
    examples(command, 'muster psql --reports', 'muster psql --reports -- --csv --command "TABLE v_failure_rate"');
  },
  backup: (command, run) => {
    const work = async (settings: Settings, _flags: ServeFlags, [file]: string[]): Promise<number> => {
      const { backUp } = await import('../server/backup.js');
      return backUp(settings, file!);
    };
    command.argument('<file>', 'file to write, replaced only when the backup is complete; - for stdout');
    examples(
      serving(command, run, work),
      'muster backup muster.backup',
      'muster backup - > /backups/muster-$(date +%F).backup',
    );
  },
  restore: (command, run) => {
    const work = async (settings: Settings, flags: ServeFlags, [file]: string[]): Promise<number> => {
      const { restoreFrom } = await import('../server/backup.js');
      return restoreFrom(settings, file!, flags.replace ?? false);
    };
    command.argument('<file>', 'file that muster backup has written; - for stdin');
    serving(command, run, work).option(
      '--replace',
      'replace the present content of the database, once the restore is complete',
    );
    examples(command, 'muster restore muster.backup', 'muster restore muster.backup --replace');
  },
};
