import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

/** The built product on a real pseudo-terminal, which `script` of util-linux makes. */
const program = fileURLToPath(new URL('../../bin/muster.mjs', import.meta.url));
const hasScript = spawnSync('script', ['--version']).status === 0;

interface Run {
  /** Everything the terminal was told, its control sequences included. */
  raw: string;
  /** Without them. */
  text: string;
}

/** From the start to the ordered stop that follows once it leads. */
async function onTerminal(prepare: string, env: Record<string, string> = {}): Promise<Run> {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  // Where CI is set nothing moves on any terminal.
  const { CI: _ci, ...outer } = process.env;
  const own = {
    ...outer,
    DATABASE_URL: '',
    MUSTER_PORT: '0',
    MUSTER_DATA_DIR: path,
    TERM: 'xterm-256color',
    ...env,
  };
  const command = `${prepare}; exec '${process.execPath}' '${program}' scheduler --new-database`;
  const child = spawn('script', ['-qfec', command, '/dev/null'], {
    env: own,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let raw = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (raw += piece));
  onTestFinished(() => void child.kill('SIGKILL'));
  await waitFor('it to lead', () => /Leads in epoch/.test(raw), { timeoutMillis: 60_000 });
  spawnSync(process.execPath, [program, 'stop'], { env: own });
  await waitFor('its end', () => child.exitCode !== null, { timeoutMillis: 30_000 });
  // eslint-disable-next-line no-control-regex -- what a terminal obeys and does not show
  return { raw, text: raw.replace(/\u001b\[[?\d;]*[A-Za-z]/g, '').replaceAll('\r', '') };
}

test.runIf(hasScript)(
  'on a terminal: lines for people in colours, what takes long is seen going on, migrations are one line',
  async () => {
    const { raw, text } = await onTerminal('stty cols 100');
    expect(raw).toContain('\u001b[32mINFO');
    expect(text).toMatch(/\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] INFO: \[Leadership\] Leads in epoch 1\n/);
    expect(text.match(/Migrated/g)).toHaveLength(1);
    expect(text).toMatch(/INFO: \[Database\] Migrated by \d+ steps, the last one is \w+\n/);
    expect(text).toMatch(/⠋ Starting PostgreSQL.*✔ Starting PostgreSQL \(\d+\.\d s\)\n/);
    expect(text).not.toContain('{"level"');
    // The cursor is hidden while something moves, and back at the end.
    expect(raw.lastIndexOf('\u001b[?25h')).toBeGreaterThan(raw.lastIndexOf('\u001b[?25l'));
  },
  120_000,
);

test.runIf(hasScript)(
  'on a terminal that does not say how wide it is nothing moves, and JSON is JSON where it is asked for',
  async () => {
    const { raw, text } = await onTerminal('stty cols 0', { MUSTER_LOG_FORMAT: 'json' });
    expect(raw).not.toContain('\u001b[');
    expect(text).toMatch(/^Starting PostgreSQL\n/);
    const { msg } = JSON.parse(text.split('\n').find((line) => line.includes('Leads in'))!) as { msg: string };
    expect(msg).toBe('Leads in epoch 1');
  },
  120_000,
);

test.skipIf(hasScript)('left out: there is no `script` here to make a terminal', () => undefined);
