import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutorData } from '../../src/core/model/deploy.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { AgentCluster, newTaskId } from '../support/agent-cluster.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

let cluster: AgentCluster;
const folder = tempFolder();
beforeAll(async () => {
  chmodSync(folder.path, 0o755);
  cluster = await AgentCluster.start({
    settings: { checkThreadsEveryMillis: 100, allowedArtifactPaths: [folder.path], allowedRunUsers: ['nobody'] },
  });
}, 180_000);
afterAll(() => {
  folder.remove();
});
afterAll(() => cluster.close());

/** The launch that the scheduler makes of a deploy with executorData. */
const managed = (data: ExecutorData, changes: Partial<LaunchSpec> = {}): Partial<LaunchSpec> => ({
  executorData: data,
  command: { shell: true, value: data.cmd, arguments: data.extraCmdLineArgs ?? [] },
  successfulExitCodes: data.successfulExitCodes ?? [],
  ...changes,
});
const run = (data: ExecutorData, changes?: Partial<LaunchSpec>) => cluster.run('', managed(data, changes));
const inArea = (spec: LaunchSpec, ...path: string[]) =>
  cluster.sandbox(spec, spec.taskId.replaceAll(':', '_'), ...path);
/** Log of a task that has ended: its last rotation has moved it. */
const serviceLog = (spec: LaunchSpec) => {
  const [name = ''] = readdirSync(inArea(spec, 'logs'));
  return gunzipSync(readFileSync(inArea(spec, 'logs', name))).toString();
};
const base64 = (text: string) => Buffer.from(text).toString('base64');
const md5 = (text: string | Buffer) => createHash('md5').update(text).digest('hex');

describe('the working area', () => {
  test('is one folder below the sandbox, colons of the task id replaced', async () => {
    const taskId = `re:q:${newTaskId()}`;
    const spec = await cluster.launch('', managed({ cmd: 'pwd; true' }, { taskId }));
    await cluster.untilState(spec, 'TASK_FINISHED');
    const sandbox = await cluster.driver.sandbox(taskId, 's1');
    const names = (await sandbox?.list(taskId.replaceAll(':', '_')))?.map((entry) => entry.name);
    expect(names).toEqual([
      'app',
      'deploy.env',
      'executor.bash.log',
      'executor.log',
      'logs',
      'runner.sh',
      'tail_of_finished_service.log',
      'tmp',
    ]);
    const log = await sandbox?.read(`${taskId.replaceAll(':', '_')}/tail_of_finished_service.log`, 0, 1_000);
    expect(log?.data.toString()).toBe(`${sandbox?.root}/${taskId.replaceAll(':', '_')}/app\n`);
  });

  test('keeps both outputs in one log, and the chatter of start scripts in another', async () => {
    const profile = {
      filename: 'profile.sh',
      content: [base64('echo chatter; export FROM_PROFILE=yes')],
      targetFolderRelativeToTask: 'app/.profile.d',
    };
    const spec = await run({ cmd: 'sh -c "echo out; echo err >&2; echo $FROM_PROFILE"', embeddedArtifacts: [profile] });
    expect(serviceLog(spec)).toBe('out\nerr\nyes\n');
    expect(readFileSync(inArea(spec, 'executor.bash.log'), 'utf8')).toBe('chatter\n');
  });

  test('keeps the last lines of a long log, once', async () => {
    const spec = await run({ cmd: 'seq 1 3000' });
    const tail = readFileSync(inArea(spec, 'tail_of_finished_service.log'), 'utf8').trimEnd().split('\n');
    expect([tail.length, tail[0], tail.at(-1)]).toEqual([2_500, '501', '3000']);
    const plain = await run({ cmd: 'true', skipLogrotateAndCompress: true });
    expect(existsSync(inArea(plain, 'tail_of_finished_service.log'))).toBe(false);
  });

  test('keeps passwords in the environment from other users', async () => {
    const spec = await run({ cmd: 'true' }, { environment: { PASSWORD: 'secret' } });
    expect(statSync(inArea(spec, 'deploy.env')).mode & 0o777).toBe(0o600);
    expect(statSync(inArea(spec, 'tmp')).mode & 0o777).toBe(0o750);
  });
});

describe('the command', () => {
  test('is shell text, with its arguments', async () => {
    const spec = await run(
      {
        cmd: 'printf "[%s]\\n" "two words"',
        extraCmdLineArgs: ['$GREETING', "'$GREETING'", '*.txt'],
        embeddedArtifacts: [{ filename: 'a.txt', content: [base64('x')], targetFolderRelativeToTask: 'app' }],
      },
      { environment: { GREETING: 'hello' } },
    );
    expect(serviceLog(spec)).toBe('[two words]\n[hello]\n[$GREETING]\n[a.txt]\n');
  });

  test('sees variables that refer to others, and everything else in them as it is', async () => {
    const environment = {
      NAME: 'world',
      PASSWORD: 'P@ss$word1 US$100 $TERM a$$b',
      GREETING: 'hello ${NAME}',
      ODD: '`id` $(id) "x" \\n ! \'y\' \n z',
      PATH: '/opt/none:$PATH',
    };
    const spec = await run({ cmd: 'printenv PASSWORD GREETING ODD PATH CLUSTER_TASK_ID' }, { environment });
    const log = serviceLog(spec);
    expect(log.startsWith(`P@ss$word1 US$100 $TERM a$b\nhello world\n${environment.ODD}\n/opt/none:/`)).toBe(true);
    expect(log.endsWith(`\n${spec.taskId}\n`)).toBe(true);
  });

  test('replaces the shell: signals and exit status are its own', async () => {
    const spec = await cluster.launch(
      '',
      managed({ cmd: `sh -c 'trap "exit 42" TERM; : >ready; while :; do sleep 0.02; done'` }),
    );
    await waitFor('ready', () => existsSync(inArea(spec, 'app', 'ready')));
    await cluster.driver.kill(spec.taskId, 's1', 60_000, 1);
    expect(await cluster.untilState(spec, 'TASK_KILLED')).toContain('exit code 42');
    expect(await cluster.untilState(spec, 'TASK_RUNNING')).toMatch(/^Running sh \(pid \d+\)$/);
  });

  const here = 'cat <<EOF\nin $GREETING\nEOF\n';
  test('is a line for a shell with everything that one may have, whose exit code is its own', async () => {
    // One task for all of them: each line is run as the cmd of a task is, and says how it ended.
    const lines: [cmd: string, output: string, exitCode: number][] = [
      ['printf one; printf two', 'onetwo', 0],
      ['exit 3', '', 3],
      ['echo a | tr a b | cat', 'b\n', 0],
      ['true && exit 4 || exit 5', '', 4],
      ['# nothing\necho said # why', 'said\n', 0],
      [here, 'in hello\n', 0],
      ['if [ "$GREETING" = hello ]; then echo yes; fi', 'yes\n', 0],
      ['for i in 1 2; do echo $i; done', '1\n2\n', 0],
      ['(exit 6)', '', 6],
      ['{ echo in; exit 7; }', 'in\n', 7],
      ['! true', '', 1],
      ["echo 'it''s' \"$GREETING\"", 'its hello\n', 0],
      ['f() { echo f; }; f', 'f\n', 0],
      ['WORD=1 sh -c "echo $GREETING"', 'hello\n', 0],
      ['echo $# $1', '0\n', 0],
      ['-x', expect.stringContaining('not found') as string, 127],
      ["trap 'echo bye' EXIT; exit 8", 'bye\n', 8],
      ['echo on \\\nward', 'on ward\n', 0],
    ];
    const seen = await Promise.all(
      lines.map(async ([cmd]) => {
        const data = { cmd, skipLogrotateAndCompress: true };
        const spec = await cluster.launch('', managed(data, { environment: { GREETING: 'hello' } }));
        const state = await Promise.race([
          cluster.untilState(spec, 'TASK_FINISHED'),
          cluster.untilState(spec, 'TASK_FAILED'),
        ]);
        return [cmd, readFileSync(inArea(spec, 'service.log'), 'utf8'), Number(/^Exit code (\d+)/.exec(state)?.[1])];
      }),
    );
    expect(seen).toEqual(lines);
  });

  test('has the open files it was given', async () => {
    const spec = await run({ cmd: 'sh -c "ulimit -S -n"', maxOpenFiles: 123 });
    expect(serviceLog(spec)).toBe('123\n');
  });

  test('has no more threads than it may', async () => {
    const spec = await cluster.launch(
      '',
      managed({ cmd: `sh -c 'for i in 1 2 3 4 5; do sleep 600 & done; wait'`, maxTaskThreads: 3 }),
    );
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Killed for too many threads: 6, limit 3');
  });
});

describe.runIf(userInfo().uid === 0)('another user', () => {
  test('runs the task and owns its files', async () => {
    const spec = await run({ cmd: `sh -c 'id -un; touch made; echo $HOME'` }, { user: 'nobody' });
    expect(serviceLog(spec)).toMatch(/^nobody\n\//);
    const { uid } = statSync(inArea(spec, 'app', 'made'));
    for (const name of ['app', 'tmp', 'logs', 'tail_of_finished_service.log', 'deploy.env'])
      expect(statSync(inArea(spec, name)).uid).toBe(uid);
    const plain = await cluster.run('id -un; touch made; kill -0 $$', { user: 'nobody' });
    expect(cluster.output(plain)).toBe('nobody\n');
    expect(statSync(cluster.sandbox(plain, 'made')).uid).toBe(uid);
  });

  test('is refused when it cannot reach the sandboxes', async () => {
    const spec = cluster.spec({ user: 'nobody' });
    chmodSync(cluster.root, 0o700);
    const answers = await cluster.driver.launch([spec], 1);
    chmodSync(cluster.root, 0o755);
    expect(answers).toMatchObject([
      { outcome: 'REFUSED', reason: expect.stringContaining(`${cluster.root} is closed to others`) },
    ]);
  });
});

describe('files that come with the deploy', () => {
  test('are put where they belong, their content checked', async () => {
    const artifact = {
      filename: 'etc/app.conf',
      content: [base64('one'), base64('two!')],
      md5sum: md5('onetwo!').toUpperCase(),
      targetFolderRelativeToTask: 'app/conf',
    };
    const spec = await run({ cmd: 'cat conf/etc/app.conf', embeddedArtifacts: [artifact] });
    expect(serviceLog(spec)).toBe('onetwo!');
  });

  test.each([
    { why: 'no base64', artifacts: [{ filename: 'a', content: 'name: x' }], says: 'a: its content is not base64' },
    { why: 'another md5', artifacts: [{ filename: 'a', content: [base64('x')], md5sum: md5('y') }], says: 'md5' },
    {
      why: 'a name twice',
      artifacts: [
        { filename: 'a', content: [] },
        { filename: 'a', content: [] },
      ],
      says: 'already',
    },
  ])('with $why fail the task', async ({ artifacts, says }) => {
    const spec = await cluster.launch('', managed({ cmd: 'true', embeddedArtifacts: artifacts }));
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain(says);
    expect(cluster.seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_FAILED']);
  });

  test('go to the task folder when their own is absolute, which executor.log says', async () => {
    const artifact = { filename: 'a', content: [base64('x')], targetFolderRelativeToTask: '/etc' };
    const spec = await run({ cmd: 'cat ../a', embeddedArtifacts: [artifact] });
    expect(serviceLog(spec)).toBe('x');
    expect(readFileSync(inArea(spec, 'executor.log'), 'utf8')).toContain('target folder /etc is absolute');
  });
});

describe('files that are fetched', () => {
  const files = join(folder.path, 'files');
  let server: Server;
  let url: string;
  let hanging = 0;
  beforeAll(async () => {
    mkdirSync(join(files, 'in'), { recursive: true });
    writeFileSync(join(files, 'in', 'hello.txt'), 'hello');
    for (const [ending, flag] of [
      ['tar', ''],
      ['tar.gz', 'z'],
      ['tgz', 'z'],
      ['tar.bz2', 'j'],
      ['tar.xz', 'J'],
    ] as const)
      execFileSync('tar', [`-c${flag}f`, join(files, `a.${ending}`), '-C', join(files, 'in'), 'hello.txt']);
    execFileSync('gzip', ['-k', join(files, 'in', 'hello.txt')]);
    execFileSync('mv', [join(files, 'in', 'hello.txt.gz'), files]);
    server = createServer((request, response) => {
      if (request.url === '/moved') return void response.writeHead(302, { location: '/a.tar.gz' }).end();
      if (request.url === '/hangs') return void hanging++;
      const path = join(files, request.url ?? '');
      if (existsSync(path)) response.end(readFileSync(path));
      else response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test.each(['a.tar', 'a.tar.gz', 'a.tgz', 'a.tar.bz2', 'a.tar.xz', 'hello.txt.gz'])(
    '%s is unpacked in the sandbox',
    async (name) => {
      const spec = await cluster.run('cat hello.txt', { artifacts: [{ uri: `${url}/${name}` }] });
      expect(cluster.output(spec)).toBe('hello');
    },
  );

  test('stay packed when they are to be', async () => {
    const artifacts = [
      { uri: `file://${files}/a.tar`, extract: false },
      { uri: join(files, 'a.tgz'), executable: true, outputFile: 'bin/tool' },
    ];
    const spec = await cluster.run('ls -d a.tar bin/tool hello.txt; test -x bin/tool && echo executable', {
      artifacts,
    });
    expect(cluster.output(spec)).toBe('a.tar\nbin/tool\nexecutable\n');
  });

  test('are unpacked for the user of the task', async () => {
    const spec = await cluster.run('cat hello.txt', {
      artifacts: [{ uri: `${url}/a.tar.gz` }],
      user: userInfo().uid === 0 ? 'nobody' : undefined,
    });
    expect(cluster.output(spec)).toBe('hello');
  });

  test('as external artifacts are checked, unpacked or put in place', async () => {
    const archive = readFileSync(join(files, 'a.tar.gz'));
    const spec = await run({
      cmd: 'cat hello.txt plain/hello.gz',
      externalArtifacts: [
        {
          filename: 'x.tar.gz',
          url: `${url}/moved`,
          filesize: archive.length,
          md5sum: md5(archive),
          targetFolderRelativeToTask: 'app',
        },
        { filename: 'hello.gz', url: `file://${files}/in/hello.txt`, targetFolderRelativeToTask: 'app/plain' },
      ],
    });
    expect(serviceLog(spec)).toBe('hellohello');
  });

  test.each([
    { why: 'are not there', artifact: { filename: 'x', path: '/nothing' }, says: 'HTTP 404' },
    { why: 'have another size', artifact: { filename: 'x', path: '/a.tar', filesize: 3 }, says: 'bytes instead of 3' },
    { why: 'have other content', artifact: { filename: 'x', path: '/a.tar', md5sum: md5('no') }, says: 'md5' },
    { why: 'are no archives', artifact: { filename: 'x.tar.gz', path: '/in/hello.txt' }, says: 'tar' },
  ])('fail the task when they $why', async ({ artifact: { path, ...artifact }, says }) => {
    const spec = await cluster.launch(
      '',
      managed({ cmd: 'true', externalArtifacts: [{ ...artifact, url: url + path }] }),
    );
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain(says.slice(0, 10));
  });

  test('fail the task when no server has them', async () => {
    const spec = await cluster.launch('true', { artifacts: [{ uri: 'http://127.0.0.1:1/x' }] });
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toContain('127.0.0.1:1');
  });

  test('no longer matter once the task is killed', async () => {
    const spec = await cluster.launch('touch started', { artifacts: [{ uri: `${url}/hangs` }] });
    await waitFor('the download', () => hanging > 0);
    expect(await cluster.driver.kill(spec.taskId, 's1', 60_000, 1)).toBe('KILLING');
    expect(await cluster.untilState(spec, 'TASK_KILLED')).toBe('Killed before start');
    expect(existsSync(cluster.sandbox(spec, 'started'))).toBe(false);
  });
});

describe('the result file of a health check', () => {
  const file = (timeoutSeconds: number) => ({
    healthcheckResultFile: { path: 'state/healthy', intervalSeconds: 0.02, timeoutSeconds },
  });

  test('makes a task count as running', async () => {
    const spec = await cluster.launch(
      '',
      managed({ cmd: `sh -c 'sleep 0.2; mkdir state; echo ok >state/healthy; sleep 600'` }, file(60)),
    );
    expect(await cluster.untilState(spec, 'TASK_RUNNING')).toContain('health file found');
    await cluster.driver.kill(spec.taskId, 's1', 0, 1);
    await cluster.untilState(spec, 'TASK_KILLED');
  });

  test('that does not come in time ends the task', async () => {
    const spec = await cluster.launch('sleep 600', file(0.3));
    expect(await cluster.untilState(spec, 'TASK_FAILED')).toBe('Timed out after 0.3 s waiting for the health file');
    expect(cluster.seen.statesOf(spec.taskId)).toEqual(['TASK_STARTING', 'TASK_FAILED']);
  });

  test('need not come if the task ends well before', async () => {
    const well = await cluster.run('exit 0', file(60));
    expect(cluster.seen.statesOf(well.taskId)).toEqual(['TASK_STARTING', 'TASK_RUNNING', 'TASK_FINISHED']);
    const badly = await cluster.run('exit 1', file(60));
    expect(cluster.seen.statesOf(badly.taskId)).toEqual(['TASK_STARTING', 'TASK_FAILED']);
    expect(cluster.seen.messagesOf(badly.taskId).at(-1)).toBe('Exit code 1 before the health file was there');
  });
});
