import { Logger } from '@nestjs/common';
import { expect, test } from 'vitest';
import { PinoLogger, type LogOptions } from './log.js';

function listen(options: Partial<LogOptions> & { isTTY?: boolean } = {}): { logger: PinoLogger; lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (text: string) => void lines.push(text), isTTY: options.isTTY };
  return { logger: new PinoLogger({ level: 'info', format: 'auto', destination, ...options }), lines };
}

test('elsewhere than on a terminal a message is one line of JSON, with who speaks', () => {
  const { logger, lines } = listen();
  logger.log('Migrated', 'Database');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toEqual({
    level: 'info',
    time: expect.any(String),
    context: 'Database',
    msg: 'Migrated',
  });
});

test('an error carries its stack and its cause', () => {
  const { logger, lines } = listen();
  logger.error('The pass failed', new Error('no row', { cause: new Error('no table') }), 'Pollers');
  const line = JSON.parse(lines[0]!) as { msg: string; err: { message: string; stack: string } };
  expect(line.msg).toBe('The pass failed');
  expect(line.err.stack).toContain('no row');
  expect(line.err.stack).toContain('no table');
});

test("Nest's own way to log an error, message and stack, is kept", () => {
  const { logger, lines } = listen();
  logger.error('Boom', 'Error: Boom\n    at somewhere', 'ExceptionsHandler');
  expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'Boom', stack: 'Error: Boom\n    at somewhere' });
});

test('what is below the level is left out, and so is what Nest tells about its modules', () => {
  const { logger, lines } = listen();
  logger.debug('detail', 'Database');
  logger.log('AppModule dependencies initialized', 'InstanceLoader');
  expect(lines).toEqual([]);
});

test('on a terminal a message is a line for people', () => {
  const { logger, lines } = listen({ isTTY: true });
  logger.warn('Cannot listen, trying again', 'Notifier');
  // eslint-disable-next-line no-control-regex -- colours
  expect(lines.join('').replace(/\u001b\[\d+m/g, '')).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} WARN {2}\[Notifier\] Cannot listen, trying again\n$/,
  );
});

test('works as the logger behind Logger', () => {
  const { logger, lines } = listen();
  Logger.overrideLogger(logger);
  try {
    new Logger('Somebody').error('It broke', new Error('inside'));
  } finally {
    Logger.overrideLogger(false);
  }
  expect(JSON.parse(lines[0]!)).toMatchObject({ context: 'Somebody', msg: 'It broke', err: { message: 'inside' } });
});
