import { expect, test } from 'vitest';
import { isAt } from './join.js';

test.each([
  { address: '127.0.0.1:7099', url: 'http://127.0.0.1:7099', there: true },
  { address: '127.0.0.1:7099', url: 'http://localhost:7099/', there: true },
  { address: '127.0.0.1:7099', url: 'http://localhost:7100', there: false },
  { address: 'node-1:7099', url: 'http://127.0.0.1:7099', there: true },
  { address: 'node-1:7099', url: 'http://node-1:7099/api', there: true },
  { address: 'node-1:7099', url: 'http://node-2:7099', there: false },
  { address: 'muster.example.com', url: 'https://muster.example.com', there: true },
  { address: 'node-1', url: 'http://[::1]', there: true },
  // A loopback address leads to this machine alone.
  { address: 'node-1:7099', hostname: 'node-2', url: 'http://127.0.0.1:7099', there: false },
])('an instance at $address of $hostname is at $url: $there', ({ address, hostname = 'node-1', url, there }) => {
  expect(isAt({ address, hostname, dataDir: null }, new URL(url), 'node-1')).toBe(there);
});
