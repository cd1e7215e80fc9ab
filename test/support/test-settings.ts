import { SettingsFile, type Settings } from '../../src/platform/settings/settings.js';

/** The defaults of every setting, on any free port. */
export function testSettings(changes: Partial<Settings> = {}): Settings {
  return {
    ...SettingsFile.parse({}),
    port: 0,
    host: '127.0.0.1',
    databaseUrl: undefined,
    dataDir: '.muster',
    allowTestResourceCalls: false,
    clusterDriver: 'simulated',
    log: { level: 'warn', format: 'json' },
    ...changes,
  };
}
