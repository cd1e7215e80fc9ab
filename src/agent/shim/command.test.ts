import { expect, test } from 'vitest';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { programName } from './command.js';

test.each([
  [true, '/usr/bin/sleep 600', 'sleep'],
  [true, 'cat /proc/sys/kernel/core_pattern; dmesg | head -3; env', 'cat'],
  [false, '/opt/app/run', 'run'],
  [false, 'cat /proc/sys/kernel/core_pattern; dmesg | head -3; env', 'cat'],
  [true, 'true;echo /x', 'true'],
  [true, '', 'command'],
])('the program of a command (shell: %s) %o is called %s', (shell, value, name) =>
  expect(programName(launchSpec({ command: { shell, value, arguments: [] } }))).toBe(name),
);
