import { expect, test } from 'vitest';
import type { HealthcheckOptions } from '../../../core/model/deploy.js';
import { healthcheckTarget } from './task-checker.service.js';

const task = { host: 'slave-7.example', ports: [31_001, 31_002] };
const plain = { host: 'slave-7.example', port: 31_001, uri: '/h', protocol: 'HTTP', method: 'GET' };

test.each<{ name: string; options: HealthcheckOptions; target: object }>([
  { name: 'the first port is asked, over HTTP, with GET', options: {}, target: plain },
  {
    name: 'portIndex chooses among the ports of the task',
    options: { portIndex: 1 },
    target: { ...plain, port: 31_002 },
  },
  { name: 'portNumber is a fixed port', options: { portNumber: 80 }, target: { ...plain, port: 80 } },
  {
    name: 'portNumber wins over portIndex',
    options: { portNumber: 80, portIndex: 1 },
    target: { ...plain, port: 80 },
  },
  {
    name: 'protocol and method are honoured',
    options: { protocol: 'HTTPS2', method: 'POST' },
    target: { ...plain, protocol: 'HTTPS2', method: 'POST' },
  },
  {
    name: 'without a uri the check fails',
    options: { uri: undefined },
    target: { errorMessage: 'The health check names no uri' },
  },
  {
    name: 'without such a port the check fails',
    options: { portIndex: 2 },
    target: { errorMessage: 'The task has no port 2' },
  },
  { name: 'a port below 1 is none', options: { portNumber: 0 }, target: { errorMessage: 'The task has no port 0' } },
])('$name', ({ options, target }) => expect(healthcheckTarget(task, { uri: '/h', ...options }, false)).toEqual(target));

test('where everything runs on this machine it is asked here, whatever the slave is called', () =>
  expect(healthcheckTarget(task, { uri: '/h' }, true)).toEqual({ ...plain, host: 'localhost' }));
