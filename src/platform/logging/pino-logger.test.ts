import { Logger } from '@nestjs/common';
import { describe, expect, test } from 'vitest';
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

describe('for people', () => {
  // eslint-disable-next-line no-control-regex -- colours
  const plain = (lines: string[]) => lines.join('').replace(/\u001b\[\d+m/g, '');
  test('on a terminal a message is a line with time, level and who speaks', () => {
    const { logger, lines } = listen({ isTTY: true });
    logger.warn('Cannot listen, trying again', 'Notifier');
    logger.log('Nobody in particular');
    expect(plain(lines)).toMatch(
      /^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\] WARN: \[Notifier\] Cannot listen, trying again\n\[[\dTZ:.-]+\] INFO: Nobody in particular\n$/,
    );
  });
  test('an error is told with its stack line by line, a warning without', () => {
    const { logger, lines } = listen({ isTTY: true });
    const error = new Error('no row');
    logger.warn('Trying again', error, 'Pollers');
    expect(plain(lines)).toMatch(/^[^\n]* WARN: \[Pollers\] Trying again\n$/);
    logger.error('The pass failed', error, 'Pollers');
    logger.error('Boom', 'Error: Boom\n    at somewhere', 'ExceptionsHandler');
    expect(plain(lines)).toMatch(/ERROR: \[Pollers\] The pass failed\n[^]*\n +at .*pino-logger\.test\.ts/);
    expect(plain(lines)).toMatch(/ERROR: \[ExceptionsHandler\] Boom\n[^]*\n +at somewhere\n/);
  });
  test('what a terminal would obey is shown, not done', () => {
    const { logger, lines } = listen({ format: 'pretty', isTTY: false });
    logger.log('a\u001b[2Jb\u009b31mc\rd\u0008e\\u001b\tf', 'Caller');
    expect(lines.join('')).toMatch(/INFO: \[Caller\] a\\u001b\[2Jb\\u009b31mc\\rd\\be\\u001b\tf\n$/);
  });
  test('what a terminal turns or shows nothing for is shown by its number, in lines of JSON as well', () => {
    const text = 'a\u202eb\u200bc\u009b2Jd\u{e0041}e';
    const people = listen({ isTTY: true });
    people.logger.log(text);
    expect(plain(people.lines)).toContain(String.raw`a\u202eb\u200bc\u009b2Jd\udb40\udc41e`);
    const [terminal, pipe] = [true, false].map((isTTY) => listen({ format: 'json', isTTY }));
    for (const { logger } of [terminal!, pipe!]) logger.log(text);
    expect(terminal!.lines[0]).toContain(String.raw`"a\u202eb\u200bc\u009b2Jd\udb40\udc41e"`);
    expect(pipe!.lines[0]).toContain(text);
    for (const { lines } of [terminal!, pipe!]) expect((JSON.parse(lines[0]!) as { msg: string }).msg).toBe(text);
  });
  test.each([
    ['pretty', false, /^\[\d{4}-\d\d-\d\dT[\d:.]+Z\] INFO: x\n$/],
    ['json', true, /^\{.*"msg":"x"\}\n$/],
  ] as const)('%s is %s whatever reads it', (format, isTTY, expected) => {
    const { logger, lines } = listen({ format, isTTY });
    logger.log('x');
    expect(lines.join('')).toMatch(expected);
  });
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
