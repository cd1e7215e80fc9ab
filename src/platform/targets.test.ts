import { describe, expect, test } from 'vitest';
import { isTargetPattern, Targets } from './targets.js';

test.each([
  ['hooks.example.com', true],
  ['*.example.com', true],
  ['localhost', true],
  ['127.0.0.1', true],
  ['10.0.0.0/8', true],
  ['::1', true],
  ['fd00::/8', true],
  ['10.0.0.0/33', false],
  ['10.0.0.0/8/8', false],
  ['fd00::/129', false],
  ['https://hooks.example.com', false],
  ['hooks.example.com:443', false],
  ['hooks.example.com/path', false],
  ['a*.example.com', false],
  ['', false],
])('%s in a list of targets: %s', (text, valid) => expect(isTargetPattern(text)).toBe(valid));

describe('a host that is named', () => {
  const names = new Targets(['hooks.example.com', '*.corp.example', '10.1.0.0/16', 'fd00::/8']);
  test.each([
    ['hooks.example.com', true],
    ['HOOKS.example.com.', true],
    ['10.1.2.3', true],
    ['10.2.2.3', false],
    ['[fd00::1]', true],
    ['[fe80::1]', false],
    ['[::ffff:10.1.2.3]', true],
    ['[::ffff:a01:203]', true],
    // It may have an address of the range: that is seen when it is connected to.
    ['other.example', true],
  ])('%s may be registered: %s', (host, may) => expect(names.mayName(host)).toBe(may));

  test('without ranges only names that are listed may be', () => {
    const only = new Targets(['*.corp.example', 'localhost']);
    expect(
      ['a.corp.example', 'corp.example', 'evilcorp.example', 'localhost', '127.0.0.1'].map((h) => only.mayName(h)),
    ).toEqual([true, false, false, true, false]);
  });
  test('an empty list allows nothing', () => expect(new Targets([]).mayName('example.com')).toBe(false));
});

describe('the address it turns out to have', () => {
  const targets = new Targets(['hooks.example.com', 'localhost', '10.1.0.0/16']);
  test.each([
    ['hooks.example.com', '93.184.216.34', true],
    ['hooks.example.com', '2606:2800:220:1::1', true],
    ['hooks.example.com', '10.1.0.9', true],
    ['hooks.example.com', '10.2.0.9', false],
    ['hooks.example.com', '127.0.0.1', false],
    ['hooks.example.com', '169.254.169.254', false],
    ['hooks.example.com', '::1', false],
    ['hooks.example.com', '::ffff:127.0.0.1', false],
    ['hooks.example.com', '::ffff:7f00:1', false],
    ['hooks.example.com', 'fe80::1%eth0', false],
    ['hooks.example.com', '64:ff9b::7f00:1', false],
    ['hooks.example.com', '0.0.0.0', false],
    ['hooks.example.com', '192.88.99.1', false],
    ['hooks.example.com', 'fec0::1', false],
    ['hooks.example.com', '::ffff:0:8.8.8.8', false],
    ['localhost', '127.0.0.1', true],
    ['localhost', '::1', true],
    ['localhost', '10.2.0.1', false],
    ['other.example', '93.184.216.34', false],
    ['other.example', '10.1.0.9', true],
  ])('%s at %s may be connected to: %s', (host, address, may) => expect(targets.mayConnect(host, address)).toBe(may));
});
