import type { Command } from 'commander';
import { CliError, exitCodes } from '../exit-codes.js';
import { schemaText } from '../files/check.js';
import { Output } from '../output/output.js';
import { writeOut } from '../output/streams.js';
import { cleanUrl, readToken } from '../remote/address.js';
import { contextsFile, readContexts, writeContexts } from '../remote/contexts.js';
import { remote } from '../remote/session.js';
import { type Define, examples, type Run } from '../run.js';
import { durationMillis, shownTime } from '../words.js';

/** Commands about this program's own files and its callers. */
export const own: Record<string, Define> = { context, token, schema };

function context(command: Command, run: Run): void {
  const json = (built: Command) => built.option('--json', 'print JSON, for programs');
  command
    .command('set')
    .description('save a server under a name')
    .argument('<name>')
    .argument('<url>')
    .option(
      '--token <token>',
      'token for this server; @file, or @- for stdin, keeps it out of the history of the shell',
    )
    .option('--use', 'make it the current context')
    .action((name: string, url: string, flags: { token?: string; use?: boolean }) => {
      if (!/^[\w.-]{1,100}$/.test(name)) throw new CliError('usage', 'A name has letters, digits, _, . and -');
      const all = readContexts(run);
      const kept = Object.hasOwn(all.contexts, name) ? all.contexts[name] : undefined;
      const address = cleanUrl('<url>', url);
      // A token was made for its server: another address does not get it.
      const token =
        flags.token === undefined ? (kept?.url === address ? kept.token : undefined) : readToken(flags.token);
      all.contexts[name] = { url: address, ...(token !== undefined && { token }) };
      const isFirst = all.current === undefined;
      writeContexts(run, { ...all, ...((flags.use || isFirst) && { current: name }) });
      new Output(false).text(
        `${name} is ${address}, in ${contextsFile(run)}${flags.use || isFirst ? '; it is the current context' : ''}`,
      );
    });
  json(command.command('list', { isDefault: true }).description('list contexts, without their tokens')).action(
    async ({ json: isJson }: { json?: boolean }) => {
      const { current, contexts } = readContexts(run);
      const all = Object.entries(contexts).map(([name, { url, token }]) => ({
        name,
        url,
        hasToken: token !== undefined,
        current: name === current,
      }));
      const out = new Output(isJson ?? false);
      const rows = all.map((each) => [each.current ? '*' : '', each.name, each.url, each.hasToken ? 'yes' : '']);
      await out.answer(all, () => out.table(['', 'CONTEXT', 'SERVER', 'TOKEN'], rows));
    },
  );
  command
    .command('use')
    .description('choose the current context')
    .argument('<name>')
    .action((name: string) => {
      const all = readContexts(run);
      if (!Object.hasOwn(all.contexts, name)) throw new CliError('notFound', `There is no context '${name}'`);
      writeContexts(run, { ...all, current: name });
      new Output(false).text(`${name} is the current context`);
    });
  command
    .command('remove')
    .description('remove a context with its token')
    .argument('<name>')
    .action((name: string) => {
      const { current, contexts } = readContexts(run);
      if (!Object.hasOwn(contexts, name)) throw new CliError('notFound', `There is no context '${name}'`);
      delete contexts[name];
      writeContexts(run, { contexts, ...(current !== name && current !== undefined && { current }) });
      new Output(false).text(`${name} is removed`);
    });
  examples(
    command,
    'muster context set staging https://muster.staging.example.com --token @staging.token',
    'muster context use staging',
    'muster context list',
    'muster context remove staging',
  );
}

interface TokenFlags {
  name?: string;
  for?: string;
  user?: string;
  all?: boolean;
}

function token(command: Command, run: Run): void {
  command
    .option('--bootstrap', 'on the machine of the server: create a new token of the first administrator')
    .option('--data-dir <directory>', 'with --bootstrap: data directory (MUSTER_DATA_DIR)')
    .option('--config <file>', 'with --bootstrap: settings file (MUSTER_CONFIG)')
    .action(async (flags: { bootstrap?: boolean; dataDir?: string; config?: string }) => {
      // Said out loud, since it takes the place of the token that the administrator had.
      if (!flags.bootstrap) return command.error('error: --bootstrap, create, list or revoke is missing');
      await import('reflect-metadata');
      const { loadSettings } = await import('../../platform/settings/load-settings.js');
      const { makeFirstToken } = await import('../server/make-token.js');
      run.exitCode = await makeFirstToken(loadSettings({ environment: run.environment, flags }));
    });
  const create = command
    .command('create')
    .description('create a token; its text is shown only once')
    .option('--name <name>', 'name of the token; replaces an earlier token of this name')
    .option('--for <time>', 'lifetime, such as 30d')
    .option('--user <id>', 'administrators only: user of the token');
  remote<TokenFlags, []>(create, run, async ({ api, out }, flags) => {
    const made = await api.auth.createToken({
      body: {
        ...(flags.name !== undefined && { name: flags.name }),
        ...(flags.for !== undefined && { expiresAt: Date.now() + durationMillis('--for', flags.for) }),
        ...(flags.user !== undefined && { user: { id: flags.user } as never }),
      },
    });
    await out.answer(made, () => {
      out.note(`Token of ${made.user.id} until ${shownTime(made.expiresAt)}, shown only now:`);
      return made.token;
    });
  });
  const list = command
    .command('list')
    .description('list tokens, without their text')
    .option('--user <id>', 'administrators only: tokens of this user')
    .option('--all', 'administrators only: tokens of all users');
  remote<TokenFlags, []>(list, run, async ({ api, out }, flags) => {
    const all = await api.auth.listTokens({
      ...(flags.user !== undefined && { user: flags.user }),
      ...(flags.all && { all: true }),
    });
    const rows = all.map((each) => [
      each.id,
      each.name,
      each.userId,
      shownTime(each.createdAt),
      shownTime(each.expiresAt),
      shownTime(each.lastUsedAt),
    ]);
    await out.answer(all, () => out.table(['TOKEN', 'NAME', 'USER', 'CREATED', 'EXPIRES', 'LAST USED'], rows));
  });
  const revoke = command.command('revoke').description('revoke a token').argument('<id>', 'id from muster token list');
  remote<object, [string]>(revoke, run, async ({ api, out }, _flags, tokenId) => {
    await api.auth.revokeToken({ tokenId });
    await out.answer({ id: tokenId, revoked: true }, () => `${tokenId} is revoked`);
  });
  examples(
    command,
    'muster token create --name laptop --for 30d',
    'muster token list',
    'muster token revoke 3f9a1c52e07b',
    'muster token --bootstrap',
  );
}

function schema(command: Command, run: Run): void {
  command.argument('<kind>', 'request or deploy').action((kind: string) => {
    if (kind !== 'request' && kind !== 'deploy') return command.error(`error: request or deploy, not '${kind}'`);
    writeOut(schemaText(kind));
    run.exitCode = exitCodes.done;
  });
  command.addHelpText(
    'after',
    '\nEditors check YAML files against it that begin with such a line:\n  # yaml-language-server: $schema=deploy.schema.json',
  );
  examples(command, 'muster schema deploy > deploy.schema.json', 'muster schema request');
}
